"""What is known of one server, line by line: good, not good, or not known, each in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from labs.models import Endpoint
from labs.text import N_, Text
from labs.views.ops.words import found_words

WAITS = N_("A worker tries it as soon as the server is free.")

# canary -> (when it is green, when it is red; the reason follows)
TRIED: Mapping[str, tuple[Text, Text]] = {
    "content": (
        N_("An answer arrives token by token through this address."),
        N_(
            "Answers do not arrive as they are written. If they arrive in one piece, something between buffers them."
        ),
    ),
    "cancel": (
        N_("A closed connection is passed on: the slot falls free at once."),
        N_("A closed connection is not passed on, or the server does not heed it."),
    ),
    "prefix": (
        N_("The prefix cache works as it is taught."),
        N_("The prefix cache does not work as it is taught."),
    ),
    "slots": (
        N_("One can see who is in which slot."),
        N_("One cannot see who is in which slot."),
    ),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """`good` None: not known yet. `why`: a stored reason, as its canary wrote it."""

    good: bool | None
    says: Text
    why: Mapping[str, Any] | None = None


def findings(endpoint: Endpoint) -> list[Finding]:
    return [_reached(endpoint), *_key(endpoint), *_tried(endpoint)]


def _reached(endpoint: Endpoint) -> Finding:
    good = {"": None, "loading": None}.get(endpoint.probed_as, endpoint.probed_as == "ok")
    return Finding(good, found_words(endpoint.probed_as))


def _key(endpoint: Endpoint) -> Iterator[Finding]:
    if endpoint.api_key and endpoint.probed_as == "ok":
        yield Finding(True, N_("It accepts the key."))


def _tried(endpoint: Endpoint) -> Iterator[Finding]:
    """Of what runs there now; what was found at another model or build says nothing of this one."""
    if endpoint.probed_as != "ok":
        return
    known = endpoint.canaries if endpoint.canaries_of == endpoint.fingerprint else {}
    for name, (green, red) in TRIED.items():
        if (found := known.get(name)) is not None:
            yield Finding(found["green"], green if found["green"] else red, found["reason"])
    # Without /slots the others are never tried, and waiting for them would be in vain.
    if not TRIED.keys() <= known.keys() and known.get("slots", {}).get("green", True):
        yield Finding(None, WAITS)
