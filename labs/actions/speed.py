"""How fast an endpoint reads a prompt: found by its canaries, bettered by runs, used wherever a plan needs a guess."""

from __future__ import annotations

from dataclasses import replace

from django.db.models import Q

from labs.measure.recording import ServerFacts
from labs.models import Endpoint


def ms_per_token(endpoint: Endpoint) -> float | None:
    """None until the canaries have seen what is there now."""
    is_of_this = endpoint.fingerprint and endpoint.canaries_of == endpoint.fingerprint
    return endpoint.prompt_ms_per_token if is_of_this else None


def facts_of(endpoint: Endpoint) -> ServerFacts:
    """What is known of the endpoint before a run asks it anything."""
    facts = ServerFacts.from_json(endpoint.facts)
    known = ms_per_token(endpoint)
    return facts if known is None else replace(facts, prompt_ms_per_token=known)


def learn(endpoint: Endpoint, seen: ServerFacts) -> None:
    """A run that read faster than anything since the canaries is the new minimum. Delays only ever add, so what is
    slower says nothing; a machine that has become slow is measured anew by the next canaries."""
    if seen.prompt_ms_per_token is None:
        return
    slower = Q(prompt_ms_per_token__gt=seen.prompt_ms_per_token)
    here = Endpoint.objects.filter(slower, pk=endpoint.pk, fingerprint=endpoint.fingerprint)
    here.update(prompt_ms_per_token=seen.prompt_ms_per_token)
