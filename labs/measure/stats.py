"""Statistics of few, one-sidedly noisy times (measuring.md 3): delays only ever add.

The minimum of a few repeats says what the machine can do, the median what it was like; both are shown. Empty
input gives None, never 0. No unit is assumed; callers keep one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Point = tuple[float, float]  # x (prompt tokens computed, `prompt_n`), y (ms)


def minimum(values: Iterable[float]) -> float | None:
    return min(values, default=None)


def median(values: Iterable[float]) -> float | None:
    return quantile(values, 0.5)


def quantile(values: Iterable[float], q: float) -> float | None:
    """Linear between order statistics, the smallest at q = 0 (numpy's default). ValueError outside 0..1."""
    if not 0 <= q <= 1:
        raise ValueError(f"a quantile lies between 0 and 1, not at {q}")
    ordered = sorted(values)
    if not ordered:
        return None
    place = q * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


@dataclass(frozen=True, slots=True)
class Interval:
    """Between two order statistics. `coverage`: how often such an interval holds the true median."""

    low: float
    high: float
    coverage: float


def median_interval(values: Iterable[float], coverage: float = 0.95) -> Interval | None:
    """The narrowest symmetric pair of order statistics with at least `coverage`; nothing is resampled.

    Few values cannot reach 95 % (five give 93.75 % at most): then smallest and largest, with what they reach.
    None for fewer than two.
    """
    ordered = sorted(values)
    n = len(ordered)
    if n < 2:
        return None
    # `ways`: in how many of 2**n at most `cut` values lie below the median. Exact, and one step from cut to cut: of a
    # large class the sums anew took longer than all the rest of its board.
    cut, term, ways = 0, 1, 1
    while cut + 1 < n / 2:
        term = term * (n - cut) // (cut + 1)
        if 1 - 2 * ((ways + term) / 2**n) < coverage:
            break
        cut, ways = cut + 1, ways + term
    return Interval(ordered[cut], ordered[n - 1 - cut], 1 - 2 * (ways / 2**n))


@dataclass(frozen=True, slots=True)
class Line:
    """`slope` in ms a token where x is tokens and y is ms; `intercept` is what no token costs."""

    slope: float
    intercept: float

    def at(self, x: float) -> float:
        return self.intercept + self.slope * x


def line_through_minima(small: Sequence[Point], large: Sequence[Point]) -> Line | None:
    """Through the fastest repeat of each of two sizes (lab.md 4). None where a size is empty or both are one."""
    if not small or not large:
        return None
    (x0, y0), (x1, y1) = (min(repeats, key=lambda point: point[1]) for repeats in (small, large))
    if x0 == x1:
        return None
    slope = (y1 - y0) / (x1 - x0)
    return Line(slope, y0 - slope * x0)
