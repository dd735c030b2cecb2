"""Widths for bars: whole thousandths of a figure's longest time, so that no page needs a style."""

from __future__ import annotations

from dataclasses import dataclass

UNITS = 1000
# Thinner than this nothing can be seen.
LEAST = 3


@dataclass(frozen=True, slots=True)
class Bar:
    """`kind` names its colour; `x` and `width` are in thousandths of the figure's width."""

    kind: str
    x: int
    width: int
    word: str = ""


def bar(kind: str, start: float, end: float, longest: float, word: str = "") -> Bar:
    at = round(start / longest * UNITS) if longest else 0
    width = max(round((end - start) / longest * UNITS) if longest else 0, LEAST)
    return Bar(kind, min(at, UNITS - LEAST), min(width, UNITS), word)
