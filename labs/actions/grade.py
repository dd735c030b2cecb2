"""Grading: a pure function's checks become one append-only event, and the best event becomes the grade."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labs.actions.change import move, refund
from labs.actions.storable import storable
from labs.grading.checks import Check, Verdict, total
from labs.limits import limits_in_force
from labs.models import Attempt, Grade, GradeEvent, Round, State
from labs.sheets import seen_of, seen_round
from labs.steps.base import Seen, Step


@dataclass(frozen=True, slots=True)
class Graded:
    """Checks, and the version of the course's limits that they rest on."""

    checks: Sequence[Check]
    limits_version: int = 0

    @property
    def is_open(self) -> bool:
        return is_open(self.checks)


def is_open(checks: Sequence[Check]) -> bool:
    return any(check.verdict is Verdict.INCONCLUSIVE for check in checks)


def grade_now(attempt: Attempt, step: Step, seen: Seen) -> Graded:
    """By the step's present code and the course's limits in force."""
    limits = limits_in_force(attempt.course_id, attempt.step)
    return Graded(step.grade(seen, limits.values), limits.version)


def event_fields(checks: Sequence[Check]) -> dict[str, Any]:
    """What an event stores of its checks. The same checks give the same bytes, and so the same hash."""
    data = storable([check.to_json() for check in checks])
    return {
        "points": total(checks),
        "open_points": sum(check.points for check in checks if check.verdict is Verdict.INCONCLUSIVE),
        "checks": data,
        "evidence_hash": hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest(),
    }


def record_grade(
    attempt: Attempt, step: Step, checks: Sequence[Check], limits_version: int = 0
) -> GradeEvent:
    """Appends the event and lets the student's grade point at it when it is the best. Inside a transaction."""
    event = GradeEvent.objects.create(
        attempt=attempt, step_version=step.version, limits_version=limits_version, **event_fields(checks)
    )
    whose = {"course_id": attempt.course_id, "user_id": attempt.user_id, "step": attempt.step}
    grade = (
        Grade.objects.select_for_update(of=("self",))
        .select_related("event", "automatic")
        .filter(**whose)
        .first()
    )
    if grade is None:
        Grade.objects.create(**whose, event=event)
    elif grade.is_overridden:
        # The override stays what counts; beneath it the best is kept for the day it ends.
        if grade.automatic is None or event.points > grade.automatic.points:
            Grade.objects.filter(pk=grade.pk).update(automatic=event)
    elif event.points > grade.event.points:
        Grade.objects.filter(pk=grade.pk).update(event=event)
    return event


def close_graded(attempt: Attempt, before: State, step: Step, graded: Graded) -> bool:
    """Ends the attempt as graded. An open check gives the attempt back (DESIGN 4). False: the race was lost."""
    if not move(attempt, before, State.GRADED):
        return False
    if graded.is_open:
        refund(attempt)
    record_grade(attempt, step, graded.checks, graded.limits_version)
    return True


def grade_without_run(attempt: Attempt, round_: Round, step: Step) -> None:
    """A round that sends nothing is graded as it is locked; a later round then waits, or the attempt is graded."""
    seen = seen_of(attempt)
    seen[round_.key] = seen_round(round_, None)
    if len(seen) == len(step.rounds):
        close_graded(attempt, State.OPEN, step, grade_now(attempt, step, seen))
