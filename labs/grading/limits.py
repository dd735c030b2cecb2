"""Limits: the numbers of a step's rules that a course may set otherwise. Pure data, no Django.

A set of limits is a mapping from key to whole number and holds only what differs from the step's own. The points
of a check are limits too: `points:KEY`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from labs.grading.checks import Check
from labs.text import Text

Limits = Mapping[str, int]
Unit = Literal["tokens", "percent", "points"]

POINTS = "points:"


@dataclass(frozen=True, slots=True)
class Limit:
    """`default` is the step's own; a course may choose from `least` to `most`, both included."""

    key: str
    title: Text
    unit: Unit
    default: int
    least: int
    most: int

    def of(self, limits: Limits) -> int:
        return limits.get(self.key, self.default)


def points_limit(check: Check, most: int) -> Limit:
    return Limit(POINTS + check.key, check.title, "points", check.points, 0, most)


def weighed(checks: Sequence[Check], limits: Limits) -> list[Check]:
    """The same checks with the points that the limits give them."""
    return [
        replace(check, points=limits[POINTS + check.key]) if POINTS + check.key in limits else check
        for check in checks
    ]
