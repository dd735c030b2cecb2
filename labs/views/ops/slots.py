"""Who is in which slot just now, asked of the server itself, but not by every page that is open."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.cache import cache

from labs.clients import client_of
from labs.llama.errors import LlamaError
from labs.llama.facts import Slot
from labs.models import Endpoint

# A look costs a server next to nothing; a driver takes ten a second (DESIGN 6.6). One that hangs costs each its limit.
REMEMBER_S, AWAY_S = 2, 15
NOTHING: Sequence[Slot] = ()


def slots_now(endpoint: Endpoint) -> Sequence[Slot]:
    """Empty where it cannot be asked. One look every two seconds, whoever asks."""
    if endpoint.probed_as != "ok" or not endpoint.abilities.get("slots", True):
        return NOTHING
    key = f"slots:{endpoint.pk}:{endpoint.base_url}"
    found: Sequence[Slot] | None = cache.get(key)
    if found is None:
        try:
            with client_of(endpoint) as client:
                found = client.slots()
        except LlamaError:
            found = NOTHING
        cache.set(key, found, REMEMBER_S if found else AWAY_S)
    return found
