"""Ranks by the value that is shown (DESIGN 7)."""

from __future__ import annotations

import math
from collections.abc import Sequence


def shown_value(value: float | None, digits: int) -> float | None:
    """As the board prints it, so that two rows that look alike are alike. What is no number is unknown."""
    return None if value is None or math.isnan(value) else round(value, digits)


def ranks(values: Sequence[float | None], digits: int = 3) -> list[int | None]:
    """The rank of each value, smallest first; ties share one (1, 2, 2, 4); unknown has none."""
    shown = [shown_value(value, digits) for value in values]
    known = sorted(value for value in shown if value is not None)
    first = {value: place for place, value in reversed(list(enumerate(known, start=1)))}
    return [None if value is None else first[value] for value in shown]


def board_order(values: Sequence[float | None], digits: int = 3) -> list[int]:
    """Row numbers, best first, unknown last, ties as they came: sort the rows by a stable key before."""
    shown = [shown_value(value, digits) for value in values]
    return sorted(range(len(shown)), key=lambda row: math.inf if (v := shown[row]) is None else v)
