"""Boards change: an attempt is entered, a board is frozen or let go on, a student takes a name or leaves it."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now

from labs.actions.errors import Refused
from labs.actions.storable import storable
from labs.boards import BOARDS, standing_of, the_one_that_counts
from labs.measure.fingerprint import fingerprint
from labs.models import Attempt, BoardEntry, BoardName, BoardState, Course
from labs.steps.base import Score, Seen, Step
from labs.text import N_

log = logging.getLogger(__name__)

LONGEST_NAME = 24


def scores_of(step: Step, seen: Seen) -> Sequence[Score]:
    """Never raises: a board is no reason to lose a grade."""
    try:
        return tuple(step.scores(seen))
    except Exception:
        log.exception("scores of %s failed", step.key)
        return ()


def enter(attempt: Attempt, scores: Sequence[Score]) -> None:
    """Puts a graded attempt on its boards, once. Inside the grade's transaction, which a fault here does not undo."""
    try:
        with transaction.atomic():
            _enter(attempt, scores)
    except (ValueError, TypeError, DatabaseError):
        log.exception("%s could not be put on its boards", attempt)


def _enter(attempt: Attempt, scores: Sequence[Score]) -> None:
    is_first = bool(scores) and attempt.seed_number == 0 and not _has_practised_before(attempt)
    for score in scores:
        entry, _made = BoardEntry.objects.update_or_create(
            attempt=attempt,
            board=score.board,
            defaults={
                "course_id": attempt.course_id,
                "user_id": attempt.user_id,
                "comparable": f"{fingerprint(score.run.server)}/{attempt.step_version}",
                "value": score.value,
                "detail": storable(score.detail),
                "is_first": is_first,
                "counts": False,
            },
        )
        count_anew(entry)
        changed(attempt.course_id, score.board)


def _has_practised_before(attempt: Attempt) -> bool:
    """Whoever saw the figures in practice has no first attempt any more: the board of predictions would lose its
    sense."""
    recorded = Attempt.objects.filter(
        course=attempt.course_id,
        user=attempt.user_id,
        step=attempt.step,
        practice=True,
        created_at__lt=attempt.created_at,
        rounds__accepted_run__isnull=False,
    )
    return recorded.exists()


def count_anew(entry: BoardEntry) -> None:
    """Marks which of the student's entries counts, now that this one is there or has changed."""
    chosen = the_one_that_counts(entry)
    of_student = BoardEntry.objects.filter(
        course_id=entry.course_id, board=entry.board, comparable=entry.comparable, user_id=entry.user_id
    )
    # First the old one goes: two must never count.
    of_student.filter(counts=True).exclude(pk=chosen.pk if chosen else 0).update(counts=False)
    if chosen is not None and not chosen.counts:
        BoardEntry.objects.filter(pk=chosen.pk).update(counts=True)


def changed(course_id: int, *boards: str) -> None:
    """Whoever looks at these boards is told within a second."""
    for board in boards or BOARDS:
        state, _made = BoardState.objects.get_or_create(course_id=course_id, board=board)
        BoardState.objects.filter(pk=state.pk).update(version=F("version") + 1)


def freeze(course: Course, board: str) -> None:
    """The class goes on seeing what it sees now; instructors see the present."""
    with transaction.atomic():
        changed(course.pk, board)
        here = BoardState.objects.filter(course=course, board=board, frozen_at=None)
        if here.update(frozen_at=Now()):
            BoardState.objects.filter(course=course, board=board).update(
                frozen=standing_of(course.pk, board).to_json()
            )


def let_go_on(course: Course, board: str) -> None:
    with transaction.atomic():
        BoardState.objects.filter(course=course, board=board).update(frozen_at=None, frozen=None)
        changed(course.pk, board)


def call_me(user: User, course: Course, name: str, *, hidden: bool) -> None:
    """At once, and for the past too, also on a frozen board. Raises Refused."""
    name = " ".join(name.split())[:LONGEST_NAME]
    try:
        with transaction.atomic():
            BoardName.objects.update_or_create(
                course=course, user=user, defaults={"name": name, "is_hidden": hidden}
            )
            changed(course.pk)
    except IntegrityError as error:
        raise Refused(N_("Somebody in this course has that name already.")) from error
