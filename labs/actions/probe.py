"""Is it there, and what is it? A probe asks an endpoint's health and props and stores the answer."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from labs.actions.breaker import HELD, NOT_OF_ITS_POOL
from labs.actions.claim import free_leases
from labs.actions.storable import storable
from labs.clients import client_of
from labs.llama.abilities import abilities
from labs.llama.errors import BadAddress, LlamaError
from labs.measure.fingerprint import fingerprint
from labs.measure.prepare import read_facts
from labs.measure.recording import ServerFacts
from labs.models import Endpoint, Pool

STATES = {"ok": Endpoint.State.UP, "loading": Endpoint.State.LOADING}
# A look at `/slots` puts off when the server notices who left, so one that is measured is seldom looked at: its runs
# say what becomes of it.
PROBE_EVERY_S, PROBE_LEASED_S = 10, 20
# Found up after one of these, a server was started or is another one; not where it had only been too slow to answer.
BEGINS = (Endpoint.State.DOWN, Endpoint.State.LOADING, Endpoint.State.QUARANTINED)
SLOW = Q(detail="timeout") | Q(detail__contains="no answer in time")
OK = {Endpoint.State.UP: "ok", Endpoint.State.LOADING: "loading", Endpoint.State.DOWN: "down"}
# What `Endpoint.detail` begins with where the address cannot be used, or is not a llama-server's.
ADDRESS, STRANGER = "address", "stranger"


def probe(endpoint: Endpoint, *, thoroughly: bool = False) -> Endpoint.State:
    """Never raises for what a server does. A paused endpoint stays paused, but its facts are refreshed.

    What it can answer is asked when it has changed, or `thoroughly`. Returns what was found, whatever is stored.
    """
    facts, able = None, None
    try:
        with client_of(endpoint) as client:
            health = client.health()
            state, detail = STATES.get(health.state, Endpoint.State.DOWN), health.detail
            if state is Endpoint.State.UP:
                facts = read_facts(client, ServerFacts.from_json(endpoint.facts))
                if thoroughly or not endpoint.abilities or fingerprint(facts) != endpoint.fingerprint:
                    able = abilities(client)
            elif health.state == "not_llama_server":
                detail = f"{STRANGER} {detail}"
    except BadAddress as error:
        state, detail = Endpoint.State.DOWN, f"{ADDRESS} {error.reason}"
    except LlamaError as error:
        state, detail = Endpoint.State.DOWN, str(error)
    # By its address too: one that was moved meanwhile is another server, and this says nothing of it.
    found = Endpoint.objects.filter(pk=endpoint.pk, base_url=endpoint.base_url)
    found.update(probed_at=Now(), probed_as=storable((detail or OK[state])[:300]))
    if able is not None:
        found.update(abilities=able)
    if facts is not None:
        print_ = fingerprint(facts)
        found.update(facts=storable(facts.to_json()), fingerprint=print_)
        if not fits(endpoint.pool, print_):
            state, detail = Endpoint.State.QUARANTINED, NOT_OF_ITS_POOL
    if state is Endpoint.State.UP:
        # One that began anew: its first answer is its slowest, and is to be a canary's, not a student's.
        began = found.filter(state__in=BEGINS).exclude(SLOW)
        began.update(canaries_wanted=True, canaries_tried_at=None)
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
    free = free_leases().filter(endpoint=OuterRef("pk"))
    return Endpoint.objects.exclude(state=Endpoint.State.REMOVED).filter(
        Q(probed_at__isnull=True)
        | Q(Exists(free), probed_at__lt=Now() - timedelta(seconds=PROBE_EVERY_S))
        | Q(probed_at__lt=Now() - timedelta(seconds=PROBE_LEASED_S))
    )


def probe_due() -> None:
    """Of wake-ups that piled up behind a slow server, all but the first find little to do."""
    for endpoint in due():
        probe(endpoint)
