"""Grading: a pure function's checks become one append-only event, and the best event becomes the grade."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labs.actions.board import enter, scores_of
from labs.actions.change import move, refund
from labs.actions.notify import tell_of_run
from labs.actions.storable import storable
from labs.grading.checks import Check, Verdict, total
from labs.limits import limits_in_force
from labs.models import AUTOMATIC, Attempt, Grade, GradeEvent, Notice, Round, State
from labs.rules.score import weight
from labs.sheets import seen_of, seen_round
from labs.steps.base import Score, Seen, Step

ROWS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Graded:
    """Checks, the version of the course's limits that they rest on, and what goes onto the class's boards."""

    checks: Sequence[Check]
    limits_version: int = 0
    scores: Sequence[Score] = ()

    @property
    def is_open(self) -> bool:
        return is_open(self.checks)


def is_open(checks: Sequence[Check]) -> bool:
    return any(check.verdict is Verdict.INCONCLUSIVE for check in checks)


def grade_now(attempt: Attempt, step: Step, seen: Seen) -> Graded:
    """By the step's present code and the course's limits in force."""
    limits = limits_in_force(attempt.course_id, attempt.step)
    checks = step.grade(seen, limits.values)
    is_whole = len(seen) == len(step.rounds)
    return Graded(checks, limits.version, scores_of(step, seen) if is_whole else ())


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
    grade = locked_grade(attempt)
    # An extension may have taken the penalty off since this attempt was read.
    attempt.refresh_from_db(fields=["late_percent"])
    if grade is None:
        grade, is_first = Grade.objects.get_or_create(**whose, defaults={"event": event})
        # An instructor's points or a regrade may have come first in this moment; a run must not fail by that.
        grade = grade if is_first else locked_grade(attempt)
    if grade is None or grade.event_id == event.pk:
        return event
    if grade.is_overridden:
        # The override stays what counts; beneath it the best is kept for the day it ends.
        if grade.automatic is None or event.weight > grade.automatic.weight:
            Grade.objects.filter(pk=grade.pk).update(automatic=event)
    elif event.weight > grade.event.weight:
        Grade.objects.filter(pk=grade.pk).update(event=event)
    return event


def point_at_best(
    course_id: int, step_key: str, held: Mapping[int, Grade], users: Sequence[int] | None = None
) -> None:
    """Lets the grades of these students (None: of all) point at their best attempts' newest events.

    `held`: their grades by student, locked, with `event` and `automatic`. An override stays what counts, and the
    best is kept beneath it. Inside a transaction.
    """
    for user_id, event_id in _best(course_id, step_key, held, users).items():
        grade = held.get(user_id)
        if grade is None:
            whose = {"course_id": course_id, "user_id": user_id, "step": step_key}
            Grade.objects.get_or_create(**whose, defaults={"event_id": event_id})
        elif grade.is_overridden:
            if grade.automatic_id != event_id:
                Grade.objects.filter(pk=grade.pk).update(automatic=event_id)
        elif grade.event_id != event_id:
            Grade.objects.filter(pk=grade.pk).update(event=event_id)


def _best(
    course_id: int, step_key: str, held: Mapping[int, Grade], users: Sequence[int] | None
) -> dict[int, int]:
    """By student the event of their best attempt. Of equal ones the attempt that counts already, else the first."""
    counts_now = {user_id: grade.graded for user_id, grade in held.items()}
    events = GradeEvent.objects.filter(
        kind__in=AUTOMATIC, attempt__course_id=course_id, attempt__step=step_key
    )
    if users is not None:
        events = events.filter(attempt__user__in=users)
    newest = events.order_by("attempt__created_at", "attempt_id", "-created_at", "-pk").values_list(
        "attempt__user_id", "attempt_id", "pk", "points", "attempt__late_percent"
    )
    best: dict[int, tuple[int, bool, int]] = {}
    last = None
    for user_id, attempt_id, event_id, points, late_percent in newest.iterator(ROWS_AT_ONCE):
        if attempt_id == last:
            continue
        last = attempt_id
        now = counts_now.get(user_id)
        found = (weight(points, late_percent), now is not None and now.attempt_id == attempt_id, event_id)
        if user_id not in best or found[:2] > best[user_id][:2]:
            best[user_id] = found
    return {user_id: event_id for user_id, (_weight, _counts_now, event_id) in best.items()}


def locked_grade(attempt: Attempt) -> Grade | None:
    """The grade that this attempt's student has for its step, locked.

    Without a join: Postgres drops a joined row whose other half somebody changed while we waited for the lock.
    """
    return (
        Grade.objects.select_for_update()
        .filter(course_id=attempt.course_id, user_id=attempt.user_id, step=attempt.step)
        .first()
    )


def close_graded(attempt: Attempt, before: State, step: Step, graded: Graded) -> bool:
    """Ends the attempt as graded. An open check gives the attempt back (DESIGN 4). False: the race was lost.

    Of practice nothing is kept but its recordings: its page judges them.
    """
    if not move(attempt, before, State.GRADED):
        return False
    if attempt.practice:
        return True
    if graded.is_open:
        refund(attempt)
    record_grade(attempt, step, graded.checks, graded.limits_version)
    enter(attempt, graded.scores)
    tell_of_run(Notice.Kind.VERDICT, attempt)
    return True


def grade_without_run(attempt: Attempt, round_: Round, step: Step) -> None:
    """A round that sends nothing is graded as it is locked; a later round then waits, or the attempt is graded."""
    seen = seen_of(attempt)
    seen[round_.key] = seen_round(round_, None)
    if len(seen) == len(step.rounds):
        close_graded(attempt, State.OPEN, step, grade_now(attempt, step, seen))
