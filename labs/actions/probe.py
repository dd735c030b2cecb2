"""Is it there, and what is it? A probe asks an endpoint's health and props and stores the answer."""

from __future__ import annotations

import hashlib

from django.conf import settings
from django.db.models.functions import Now

from labs.llama.client import LlamaClient
from labs.llama.errors import LlamaError
from labs.measure.recording import ServerFacts
from labs.models import Endpoint

STATES = {"ok": Endpoint.State.UP, "loading": Endpoint.State.LOADING}


def probe(endpoint: Endpoint) -> Endpoint.State:
    """Never raises for what a server does. A paused endpoint stays paused, but its facts are refreshed."""
    try:
        with LlamaClient(
            endpoint.base_url, endpoint.api_key or None, allow_local=settings.LABHUB_ALLOW_LOCAL_ENDPOINTS
        ) as client:
            health = client.health()
            state, detail = STATES.get(health.state, Endpoint.State.DOWN), health.detail
            facts = _facts(client, endpoint) if state is Endpoint.State.UP else None
    except LlamaError as error:
        state, detail, facts = Endpoint.State.DOWN, str(error), None
    fields = {"facts": facts.to_json()} if facts else {}
    Endpoint.objects.filter(pk=endpoint.pk).update(detail=detail[:300], probed_at=Now(), **fields)
    Endpoint.objects.filter(pk=endpoint.pk).exclude(state=Endpoint.State.PAUSED).update(state=state)
    return state


def probe_all() -> None:
    for endpoint in Endpoint.objects.all():
        probe(endpoint)


def _facts(client: LlamaClient, endpoint: Endpoint) -> ServerFacts:
    """Props are what the server says of itself; batch, speed and threads are kept from what was told or measured."""
    props = client.props()
    known = endpoint.facts
    return ServerFacts(
        build=props.build,
        model=props.model_path.rsplit("/", 1)[-1],
        template_hash=hashlib.sha256(props.chat_template.encode()).hexdigest()[:16],
        n_ctx=props.n_ctx,
        slots=props.total_slots,
        batch=known.get("batch"),
        prompt_ms_per_token=known.get("prompt_ms_per_token"),
        threads=known.get("threads"),
    )
