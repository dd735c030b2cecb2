"""What is left of stored JSON when nothing in it may be a person's words: numbers, and the lab's own sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labs.text import Json

GONE = "…"


def numbers_of(value: Any) -> Any:
    """The same shape, every text replaced. Keys are names of ours."""
    match value:
        case str():
            return GONE
        case Mapping():
            return {key: numbers_of(inner) for key, inner in value.items()}
        case list() | tuple():
            return [numbers_of(inner) for inner in value]
        case _:
            return value


def bare_check(check: Mapping[str, Any]) -> Json:
    """The claim, its verdict and points, and the reason's sentence; of the evidence only the event's hash remains."""
    return {
        **check,
        **{name: _sentence(check[name]) for name in ("title", "reason") if name in check},
        "evidence": {},
        "hints": [],
    }


def _sentence(text: Mapping[str, Any]) -> Json:
    return {"msgid": text["msgid"], "params": numbers_of(text.get("params", {}))}
