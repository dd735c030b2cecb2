"""Tell a person what became of their work, in the transaction of what it tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from labs.models import Attempt, Grade, Notice
from labs.terms import is_held
from labs.text import Json

Kind = Notice.Kind
# News of runs: of one step only the newest says anything.
OF_RUNS = (Kind.VERDICT, Kind.RETURNED, Kind.TROUBLE)
AT_ONCE = 500


def tell(
    kind: Notice.Kind,
    user_id: int,
    course_id: int,
    step: str = "",
    *,
    attempt: Attempt | None = None,
    by: User | None = None,
    details: Json | None = None,
) -> None:
    Notice.objects.create(
        kind=kind,
        user_id=user_id,
        course_id=course_id,
        step=step,
        attempt=attempt,
        by=by,
        details=details or {},
    )


def tell_of_run(kind: Notice.Kind, attempt: Attempt, reason: str = "") -> None:
    """Takes the place of what was not yet read about runs of the same step."""
    if attempt.practice:
        return
    new = Notice.objects.filter(
        user=attempt.user_id, course=attempt.course_id, step=attempt.step, read_at=None
    )
    new.filter(kind__in=OF_RUNS).delete()
    tell(kind, attempt.user_id, attempt.course_id, attempt.step, attempt=attempt, details={"reason": reason})


def tell_of_points(attempt: Attempt, by: User, points: int, *, ended: bool) -> None:
    """An instructor gave the points, or took back what they gave. Nothing while points are held back: when they are
    released, the student sees them with what became of them."""
    if not is_held(attempt.course, attempt.step, timezone.now()):
        tell(
            Kind.POINTS,
            attempt.user_id,
            attempt.course_id,
            attempt.step,
            attempt=attempt,
            by=by,
            details={"points": points, "ended": ended},
        )


def tell_all(
    kind: Notice.Kind, course_id: int, step: str, by: User | None, news: Mapping[int, tuple[Any, Json]]
) -> None:
    """To many at once: by student the attempt's id, if any, and the details."""
    Notice.objects.bulk_create(
        [
            Notice(
                kind=kind,
                user_id=user_id,
                course_id=course_id,
                step=step,
                attempt_id=attempt_id,
                by=by,
                details=details,
            )
            for user_id, (attempt_id, details) in news.items()
        ],
        batch_size=AT_ONCE,
    )


def tell_of_release(course_id: int, step: str, by: User | None) -> None:
    """To everybody who has a grade at this step."""
    users = Grade.objects.filter(course=course_id, step=step).values_list("user_id", flat=True)
    tell_all(Kind.RELEASED, course_id, step, by, {user: (None, {}) for user in users})


def mark_seen(user: User, attempt: Attempt) -> None:
    """Who has the attempt's page before them has read what there was to tell of it."""
    new = Notice.objects.filter(user=user, read_at=None, attempt=attempt)
    if new.exists():  # most pages tell nothing new, and should not wait for another's write
        new.update(read_at=timezone.now())


def mark_read(user: User, upto: int) -> int:
    """The person's own notices up to this one. How many were new."""
    new = Notice.objects.filter(user=user, read_at=None, pk__lte=upto)
    return new.update(read_at=timezone.now())
