"""Apply a set, or drop it. One transaction: either everything counts from now on, or nothing has changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from labs.actions.audit import record
from labs.actions.grade import point_at_best
from labs.actions.notify import tell_all
from labs.actions.regrade.again import enter_rescued, with_recordings
from labs.actions.regrade.build import CHUNK, build_chunk
from labs.actions.regrade.report import digest_of
from labs.models import AUTOMATIC, Attempt, Grade, GradeEvent, Notice, RegradeRow, RegradeSet, StepLimits
from labs.models.audit import Verb
from labs.steps import all_steps
from labs.terms import is_held

State = RegradeSet.State


def apply(regrade: RegradeSet, by: User | None) -> bool:
    """Appends the new events, lets each student's grade point at the best, and puts the limits in force.

    Attempts that ended since the preview are graded along. Overrides stay, with the new grade beneath them. False
    when the set was not waiting to be applied: a second apply changes nothing.
    """
    with transaction.atomic():
        # The first change, so that two applies, or apply and cancel, are told apart by the database.
        if not _end(regrade, (State.PREVIEW,), State.APPLIED, by):
            return False
        regrade.ended_by = by
        while build_chunk(regrade, state=State.APPLIED):
            pass
        _put_limits_in_force(regrade, by)
        # Locked before the events are read: whoever grades meanwhile waits, and then compares with what is new.
        grades = Grade.objects.filter(course_id=regrade.course_id, step=regrade.step)
        list(
            grades.select_for_update().order_by("pk").values_list("pk")
        )  # without a join, see `locked_grade`
        held = {grade.user_id: grade for grade in grades.select_related("event", "automatic")}
        for rows in _chunks(regrade):
            _append(regrade, rows)
        # The events hold them from now on.
        regrade.rows.update(checks=None)
        point_at_best(regrade.course_id, regrade.step, held)
        rescued = Attempt.objects.filter(regrade_rows__in=regrade.rows.filter(kept="", before=None))
        for attempt in with_recordings(rescued):
            enter_rescued(attempt, all_steps()[regrade.step])
        _tell_students(regrade, {user: _points(grade) for user, grade in held.items()}, by)
        RegradeSet.objects.filter(pk=regrade.pk).update(digest=digest_of(regrade))
        record(
            Verb.REGRADED, by, course=regrade.course, what=regrade.step, regrade=regrade.pk, why=regrade.why
        )
    regrade.refresh_from_db()
    return True


def _points(grade: Grade) -> int | None:
    graded = grade.graded
    return graded.points if graded else None


def _tell_students(regrade: RegradeSet, before: Mapping[int, int | None], by: User | None) -> None:
    """Whose points are others now, at any attempt. `before`: what counted, by student. Nobody where the points are
    held back: those who never saw the old ones need no news of them."""
    if is_held(regrade.course, regrade.step, timezone.now()):
        return
    rows = regrade.rows.filter(Q(old_points=None) | ~Q(points=F("old_points")), kept="")
    moved: dict[int, list[UUID]] = defaultdict(list)
    for user_id, attempt_id in rows.order_by("attempt__created_at").values_list("attempt__user", "attempt"):
        moved[user_id].append(attempt_id)
    grades = Grade.objects.filter(course=regrade.course_id, step=regrade.step)
    counting = {grade.user_id: grade.graded for grade in grades.select_related("event", "automatic")}
    news = {}
    for user_id, attempts in moved.items():
        graded = counting.get(user_id)
        counts = graded is not None and graded.attempt_id in attempts
        details = {
            "regrade": regrade.pk,
            "before": before.get(user_id),
            "after": graded.points if graded else None,
        }
        news[user_id] = (graded.attempt_id if graded and counts else attempts[-1], details)
    tell_all(Notice.Kind.REGRADED, regrade.course_id, regrade.step, by, news)


def cancel(regrade: RegradeSet, by: User | None) -> bool:
    """Drops the rows; that there was a set is kept. False when it was applied or cancelled before."""
    with transaction.atomic():
        if not _end(regrade, (State.BUILDING, State.PREVIEW), State.CANCELLED, by):
            return False
        regrade.rows.all().delete()
    regrade.refresh_from_db()
    return True


def _end(regrade: RegradeSet, before: tuple[State, ...], after: State, by: User | None) -> bool:
    ended = RegradeSet.objects.filter(pk=regrade.pk, state__in=before).update(
        state=after, ended_at=Now(), ended_by=by
    )
    return ended == 1


def _put_limits_in_force(regrade: RegradeSet, by: User | None) -> None:
    if regrade.limits_version:
        StepLimits.objects.get_or_create(
            course_id=regrade.course_id,
            step=regrade.step,
            version=regrade.limits_version,
            defaults={"values": regrade.limits, "by": by},
        )


def _chunks(regrade: RegradeSet) -> Iterator[list[RegradeRow]]:
    """The rows that differ from what counts now, a few at a time."""
    last = None
    while True:
        rows = regrade.rows.filter(kept="", checks__isnull=False).order_by("pk")
        chunk = list(rows.filter(pk__gt=last)[:CHUNK] if last else rows[:CHUNK])
        if not chunk:
            return
        yield chunk
        last = chunk[-1].pk


def _append(regrade: RegradeSet, rows: list[RegradeRow]) -> None:
    """New events for these rows, but for attempts that somebody has graded since the preview."""
    events = (
        GradeEvent.objects.filter(attempt__in=[row.attempt_id for row in rows], kind__in=AUTOMATIC)
        .order_by("created_at", "pk")
        .values_list("attempt_id", "pk")
    )
    newest = dict(events)
    fresh = [row for row in rows if newest.get(row.attempt_id) == row.before_id]
    moved = [row.pk for row in rows if newest.get(row.attempt_id) != row.before_id]
    RegradeRow.objects.filter(pk__in=moved).update(kept=RegradeRow.Kept.CHANGED_MEANWHILE, points=None)
    GradeEvent.objects.bulk_create(_event_of(regrade, row) for row in fresh)


def _event_of(regrade: RegradeSet, row: RegradeRow) -> GradeEvent:
    assert row.points is not None  # only a row that is kept has none
    return GradeEvent(
        attempt_id=row.attempt_id,
        kind=GradeEvent.Kind.REGRADE,
        step_version=regrade.step_version,
        limits_version=regrade.limits_version,
        points=row.points,
        open_points=row.open_points,
        checks=row.checks,
        evidence_hash=row.evidence_hash,
        regrade=regrade,
        by=regrade.ended_by,
        comment=regrade.why,
    )
