"""The limits that a course has in force for a step. A grade is a function of these too (DESIGN 6.11)."""

from __future__ import annotations

from dataclasses import dataclass

from labs.grading.limits import Limits
from labs.models import StepLimits


@dataclass(frozen=True, slots=True)
class InForce:
    """`version` 0: the step's own, nothing is set otherwise."""

    version: int
    values: Limits


def limits_in_force(course_id: int, step_key: str) -> InForce:
    row = StepLimits.objects.filter(course_id=course_id, step=step_key).order_by("-version").first()
    return InForce(0, {}) if row is None else InForce(row.version, row.values)
