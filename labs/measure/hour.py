"""Does a class fit its hour? How much of the servers' time it needs, and where its groups may begin. Pure.

An hour is not all queue: people read before they run, and the last runs are not waited for. `USABLE` of it is
counted, which makes of 60 minutes and one endpoint 51 machine-minutes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

USABLE = 0.85

# fine: also where all runs are slow. tight: where they are as usual. short: not even then.
Verdict = Literal["fine", "tight", "short"]


@dataclass(frozen=True, slots=True)
class StepTime:
    """What one attempt at a step occupies an endpoint for, all its rounds: usually, and when it goes slowly.

    `runs` were measured for it; 0: the figures are declared. `after`: steps that must have been tried before it.
    """

    key: str
    usual_ms: float
    slow_ms: float
    runs: int = 0
    after: Set[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Need:
    """Machine-minutes of so many attempts at every step, and what they find. `endpoints_needed` is for slow runs."""

    attempts: int
    usual_min: float
    slow_min: float
    given_min: float
    endpoints_needed: int

    @property
    def verdict(self) -> Verdict:
        if self.slow_min <= self.given_min:
            return "fine"
        return "tight" if self.usual_min <= self.given_min else "short"


def need(steps: Sequence[StepTime], attempts: int, minutes: float, endpoints: int) -> Need:
    """`attempts`: at each of the steps. `minutes` is above 0."""
    one_gives_min = minutes * USABLE
    slow_min = attempts * sum(step.slow_ms for step in steps) / 60_000
    return Need(
        attempts,
        attempts * sum(step.usual_ms for step in steps) / 60_000,
        slow_min,
        endpoints * one_gives_min,
        math.ceil(slow_min / one_gives_min),
    )


def pairs_of(headcount: int) -> int:
    """Attempts where two share one; of an odd number one works alone."""
    return math.ceil(headcount / 2)


@dataclass(frozen=True, slots=True)
class Group:
    """`order`: the steps' keys, from the one at which these students begin."""

    size: int
    order: Sequence[str]


@dataclass(frozen=True, slots=True)
class Spread:
    """Where each group begins. A stretch is the time in which everybody does one step: `busiest_ms` is what the
    servers have to do in the fullest one, `together_ms` what it would be if all went through the list together."""

    groups: Sequence[Group]
    busiest_ms: float
    together_ms: float


def spread(steps: Sequence[StepTime], attempts: int, groups: int) -> Spread:
    """The starts that keep the fullest stretch shortest; of equal ones those nearest the list's beginning.

    A step comes after those that it asks for, and no group begins with one that has to wait. Fewer groups where
    there are not so many steps to begin with, or not so many attempts. `steps` is not empty.
    """
    keys = {step.key for step in steps}
    may_begin = [number for number, step in enumerate(steps) if not step.after & keys] or [0]
    count = max(1, min(groups, len(may_begin), attempts))
    sizes = [attempts // count + (number < attempts % count) for number in range(count)]
    orders = {start: _order(steps, start) for start in may_begin}

    def busiest_ms(starts: Sequence[int]) -> float:
        stretches = zip(*(orders[start] for start in starts), strict=True)
        return max(
            math.fsum(n * step.usual_ms for n, step in zip(sizes, one, strict=True)) for one in stretches
        )

    best = min(combinations(may_begin, count), key=lambda starts: (busiest_ms(starts), starts))
    return Spread(
        [Group(size, [step.key for step in orders[at]]) for size, at in zip(sizes, best, strict=True)],
        busiest_ms(best),
        attempts * max(step.usual_ms for step in steps),
    )


def _order(steps: Sequence[StepTime], start: int) -> list[StepTime]:
    """Round the list from `start`; a step that asks for others of the list waits until they were done."""
    keys = {step.key for step in steps}
    left = [*steps[start:], *steps[:start]]
    found: list[StepTime] = []
    while left:
        done = {step.key for step in found}
        # A circle cannot be kept; then the list's order stands.
        step = next((one for one in left if (one.after & keys) <= done), left[0])
        left.remove(step)
        found.append(step)
    return found
