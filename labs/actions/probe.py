"""Is it there, and what is it? A probe asks an endpoint's health and props and stores the answer."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from labs.actions.breaker import HELD
from labs.actions.storable import storable
from labs.llama.client import LlamaClient
from labs.llama.errors import LlamaError
from labs.measure.fingerprint import fingerprint
from labs.measure.prepare import read_facts
from labs.measure.recording import ServerFacts
from labs.models import Endpoint, Pool

STATES = {"ok": Endpoint.State.UP, "loading": Endpoint.State.LOADING}
PROBE_EVERY_S = 10


def probe(endpoint: Endpoint) -> Endpoint.State:
    """Never raises for what a server does. A paused endpoint stays paused, but its facts are refreshed."""
    try:
        with LlamaClient(
            endpoint.base_url, endpoint.api_key or None, allow_local=settings.LABHUB_ALLOW_LOCAL_ENDPOINTS
        ) as client:
            health = client.health()
            state, detail = STATES.get(health.state, Endpoint.State.DOWN), health.detail
            known = ServerFacts.from_json(endpoint.facts)
            facts = read_facts(client, known) if state is Endpoint.State.UP else None
    except LlamaError as error:
        state, detail, facts = Endpoint.State.DOWN, str(error), None
    # By its address too: one that was moved meanwhile is another server, and this says nothing of it.
    found = Endpoint.objects.filter(pk=endpoint.pk, base_url=endpoint.base_url)
    found.update(probed_at=Now())
    if facts is not None:
        print_ = fingerprint(facts)
        found.update(facts=storable(facts.to_json()), fingerprint=print_)
        if not fits(endpoint.pool, print_):
            state, detail = Endpoint.State.QUARANTINED, "another model, build or size than its pool has"
    lifted = {Endpoint.State.QUARANTINED} if facts is not None else set()
    found.exclude(state__in=set(HELD) - lifted).update(state=state, detail=storable(detail[:300]))
    return state


def fits(pool: Pool | None, print_: str) -> bool:
    """The first endpoint of a pool sets what the others must be."""
    if pool is None:
        return True
    if Pool.objects.filter(pk=pool.pk, fingerprint="").update(fingerprint=print_):
        return True
    return Pool.objects.filter(pk=pool.pk, fingerprint=print_).exists()


def due() -> QuerySet[Endpoint]:
    """Endpoints whose last probe is too old, or that have had none."""
    return Endpoint.objects.filter(
        Q(probed_at__isnull=True) | Q(probed_at__lt=Now() - timedelta(seconds=PROBE_EVERY_S))
    )


def probe_due() -> None:
    """Of wake-ups that piled up behind a slow server, all but the first find little to do."""
    for endpoint in due():
        probe(endpoint)
