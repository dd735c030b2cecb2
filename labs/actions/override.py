"""An instructor's points instead of the grader's, with a comment; and their end. Both are events like any other."""

from __future__ import annotations

import hashlib

from django.contrib.auth.models import User
from django.db import transaction

from labs.actions.audit import record
from labs.actions.errors import Refused
from labs.actions.grade import locked_grade
from labs.actions.notify import tell_of_points
from labs.actions.storable import storable
from labs.models import AUTOMATIC, Attempt, Grade, GradeEvent
from labs.models.audit import Verb
from labs.steps.base import Step
from labs.text import N_

LONGEST_COMMENT = 500
NO_COMMENT = N_("Write why: the student reads it, and so does whoever looks at this grade later.")


def override(attempt: Attempt, step: Step, by: User, points: int, comment: str) -> GradeEvent:
    """These points count for the student's step from now on, whatever attempts and regrades give.

    Raises Refused without a comment, for more points than the step has, for practice, and for an attempt that has
    not ended.
    """
    if attempt.practice:
        raise Refused(N_("This is practice: it has no points. Give them on an attempt."))
    if not attempt.is_terminal:
        raise Refused(N_("This attempt has not ended yet. Give points when it has."))
    if not 0 <= points <= step.points + step.bonus:
        raise Refused(N_("This step has %(most)s points.", most=step.points + step.bonus))
    with transaction.atomic():
        grade = locked_grade(attempt)
        event = _event(attempt, step, GradeEvent.Kind.OVERRIDE, points, by, comment)
        if grade is None:
            Grade.objects.create(
                course_id=attempt.course_id, user_id=attempt.user_id, step=attempt.step, event=event
            )
        else:
            Grade.objects.filter(pk=grade.pk).update(event=event, automatic=grade.graded)
        _tell(Verb.POINTS_GIVEN, attempt, by, event, grade.event.points if grade else None)
        tell_of_points(attempt, by, points, ended=False)
    return event


def clear_override(attempt: Attempt, step: Step, by: User, comment: str) -> GradeEvent:
    """The best attempt counts again. Raises Refused without a comment, and where no override counts."""
    with transaction.atomic():
        grade = locked_grade(attempt)
        if grade is None or not grade.is_overridden:
            raise Refused(N_("No points of an instructor count here."))
        points = grade.automatic.points if grade.automatic else 0
        event = _event(attempt, step, GradeEvent.Kind.CLEARED, points, by, comment)
        if grade.automatic is None:
            grade.delete()
        else:
            Grade.objects.filter(pk=grade.pk).update(event=grade.automatic, automatic=None)
        _tell(Verb.POINTS_ENDED, attempt, by, event, grade.event.points)
        tell_of_points(attempt, by, points, ended=True)
    return event


def _tell(verb: Verb, attempt: Attempt, by: User, event: GradeEvent, before: int | None) -> None:
    record(
        verb,
        by,
        course=attempt.course,
        whom=attempt.user,
        what=attempt.step,
        attempt=str(attempt.pk),
        before=before,
        points=event.points,
        comment=event.comment,
    )


def _event(
    attempt: Attempt, step: Step, kind: GradeEvent.Kind, points: int, by: User, comment: str
) -> GradeEvent:
    comment = storable(comment.strip())[:LONGEST_COMMENT]
    if not comment:
        raise Refused(NO_COMMENT)
    newest = attempt.grade_events.filter(kind__in=AUTOMATIC).order_by("-created_at", "-pk").first()
    return GradeEvent.objects.create(
        attempt=attempt,
        kind=kind,
        step_version=step.version,
        limits_version=newest.limits_version if newest else 0,
        points=points,
        checks=[],
        evidence_hash=hashlib.sha256(b"[]").hexdigest(),
        by=by,
        comment=comment,
    )
