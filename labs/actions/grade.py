"""Grading: a pure function's checks become one append-only event, and the best event becomes the grade."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from labs.actions.change import move, refund
from labs.actions.storable import storable
from labs.grading.checks import Check, Verdict, total
from labs.models import Attempt, Grade, GradeEvent, Round, State
from labs.sheets import seen_of, seen_round
from labs.steps.base import Step


def is_open(checks: Sequence[Check]) -> bool:
    return any(check.verdict is Verdict.INCONCLUSIVE for check in checks)


def record_grade(attempt: Attempt, step: Step, checks: Sequence[Check]) -> GradeEvent:
    """Appends the event and lets the student's grade point at it when it is the best. Inside a transaction."""
    data = storable([check.to_json() for check in checks])
    event = GradeEvent.objects.create(
        attempt=attempt,
        step_version=step.version,
        points=total(checks),
        open_points=sum(check.points for check in checks if check.verdict is Verdict.INCONCLUSIVE),
        checks=data,
        evidence_hash=hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest(),
    )
    whose = {"course_id": attempt.course_id, "user_id": attempt.user_id, "step": attempt.step}
    grade = Grade.objects.select_for_update().select_related("event").filter(**whose).first()
    if grade is None:
        Grade.objects.create(**whose, event=event)
    elif event.points > grade.event.points:
        Grade.objects.filter(pk=grade.pk).update(event=event)
    return event


def close_graded(attempt: Attempt, before: State, step: Step, checks: Sequence[Check]) -> bool:
    """Ends the attempt as graded. An open check gives the attempt back (DESIGN 4). False: the race was lost."""
    if not move(attempt, before, State.GRADED):
        return False
    if is_open(checks):
        refund(attempt)
    record_grade(attempt, step, checks)
    return True


def grade_without_run(attempt: Attempt, round_: Round, step: Step) -> None:
    """A round that sends nothing is graded as it is locked; a later round then waits, or the attempt is graded."""
    seen = seen_of(attempt)
    seen[round_.key] = seen_round(round_, None)
    if len(seen) == len(step.rounds):
        close_graded(attempt, State.OPEN, step, step.grade(seen))
