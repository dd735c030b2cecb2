"""How a CPU limit stopped a run, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labs.text import N_, Text
from labs.views.words import say, us

BY_GROUP: Mapping[str, Text] = {
    "server": N_(
        "The machine's CPU limit stopped the model server in %(periods)s periods, for %(time)s in all."
    ),
    "worker": N_(
        "The machine's CPU limit stopped the measuring worker in %(periods)s periods, for %(time)s in all."
    ),
}


def sentences(throttled: Mapping[str, Any]) -> list[str]:
    """One for each group that was stopped at all, also where it was too little to matter."""
    found = []
    for group, text in BY_GROUP.items():
        stops = throttled.get(group)
        if stops and stops["periods"]:
            words = {"periods": stops["periods"], "time": us(stops["stopped_us"])}
            found.append(say(text) % words)
    return found
