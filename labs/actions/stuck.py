"""What an admin does with attempts that do not end: put back, given back, or ended. Each is its own transaction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from labs.actions.audit import record
from labs.actions.change import move, refund, stop
from labs.actions.interrupt import interrupt, open_run
from labs.actions.notify import tell_of_run
from labs.actions.wake import wake_drivers_after_commit
from labs.models import LIVE, Attempt, Notice, Reason, State
from labs.models.audit import Verb


class Do(StrEnum):
    REQUEUE = "requeue"  # back to the head of the queue, at no cost
    GIVE_BACK = "give back"  # ended, and no attempt is used
    END = "end"  # ended, and it counts as an attempt


@dataclass(frozen=True, slots=True)
class Seen:
    """An attempt as the admin saw it: what has moved on since is left alone."""

    attempt_id: UUID
    version: int


class _MovedOn(Exception):
    """Somebody else was first; nothing of this change may stay."""


def act(do: Do, seen: Iterable[Seen], by: User) -> tuple[int, int]:
    """(how many were changed, how many had moved on). Pressing twice changes nothing the second time."""
    done = left = 0
    for one in seen:
        try:
            with transaction.atomic():
                _act(do, one, by)
        except _MovedOn:
            left += 1
        else:
            done += 1
    return done, left


def put_back(attempt: Attempt) -> bool:
    """A running attempt to the head of the queue, inside the caller's transaction. A Stop that waits ends it instead.
    False: its run has ended meanwhile, and the caller's changes must not stay."""
    run = open_run(attempt)
    if run is not None and not interrupt(run):
        return False
    if Attempt.objects.filter(pk=attempt.pk, cancel_requested=True).exists():
        return stop(attempt, State.RUNNING)
    if not move(attempt, State.RUNNING, State.QUEUED, returned=True, not_before=None):
        return False
    tell_of_run(Notice.Kind.RETURNED, attempt)
    return True


def _act(do: Do, seen: Seen, by: User) -> None:
    attempt = (
        Attempt.objects.select_related("user", "course")
        .filter(pk=seen.attempt_id, version=seen.version, state__in=LIVE)
        .first()
    )
    if attempt is None or not _change(do, attempt):
        raise _MovedOn
    record(
        Verb.DONE,
        by,
        course=attempt.course,
        whom=attempt.user,
        what=f"{do} {attempt.step}",
        attempt=str(attempt.pk),
        was=attempt.state,
    )


def _change(do: Do, attempt: Attempt) -> bool:
    state = State(attempt.state)
    if do is Do.REQUEUE:
        wake_drivers_after_commit()
        if state is State.RUNNING:
            return put_back(attempt)
        return state is State.QUEUED and move(attempt, state, state, not_before=None)
    if state is State.RUNNING and (run := open_run(attempt)) is not None and not interrupt(run):
        return False
    after = State.CANCELLED if do is Do.END else State.ERRORED
    if not move(attempt, state, after, reason=Reason.ENDED_BY_ADMIN):
        return False
    if do is Do.GIVE_BACK:
        refund(attempt)
    tell_of_run(Notice.Kind.TROUBLE, attempt, Reason.ENDED_BY_ADMIN)
    return True
