"""Ranks by the value that is shown (DESIGN 7), and which class of cache a time belongs to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from labs.measure.prefix import SLACK_TOKENS
from labs.measure.stats import median


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


CacheClass = Literal["cold", "warm"]


def cache_class(*, cache_n: int, prompt_n: int, head: int) -> CacheClass | None:
    """Cold: no more than the template's `head` tokens came from the cache. Warm: almost all did. Else None,
    and on no board: a time in between compares with nothing.
    """
    if cache_n <= head + SLACK_TOKENS:
        return "cold"
    return "warm" if prompt_n <= 1 + SLACK_TOKENS else None


@dataclass(frozen=True, slots=True)
class Timed:
    """`warmup`: the first ask after the server's start or an idle time, or one made to warm it up."""

    value: float
    warmup: bool = False


def settled_median(runs: Sequence[Timed]) -> float | None:
    """What ranks: the median without warm-ups. None where nothing else is there."""
    return median(run.value for run in runs if not run.warmup)
