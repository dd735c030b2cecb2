"""A run that was measured for a pair reaches the partner's attempt, which rides on the one that ran."""

from __future__ import annotations

import logging
from dataclasses import replace

from django.db import DatabaseError, transaction
from django.db.models import Max

from labs.actions.change import move, refund
from labs.actions.grade import Graded, close_graded, grade_now, is_open
from labs.actions.notify import tell_of_run
from labs.boards import BOARDS
from labs.measure.recording import RunRecord
from labs.models import Attempt, FrameStore, Notice, Reason, Round, Run, State, StoredRecording
from labs.sheets import seen_of, seen_round
from labs.steps import all_steps
from labs.steps.base import Step

log = logging.getLogger(__name__)


class _Gone(Exception):
    """The rider was stopped in this moment."""


def leaves_a_rider_open(attempt: Attempt, record: RunRecord) -> bool:
    """Whether this run proves nothing for a partner's answers: then it is repeated, as it is for one's own."""
    step = all_steps()[attempt.step]
    for rider in _riders(attempt):
        row, seen = _newest(rider), seen_of(rider)
        seen[row.key] = seen_round(row, record)
        try:
            graded = grade_now(rider, step, seen)
        except Exception:  # a fault of ours, which `hand_over` settles for this attempt alone
            log.exception("grading %s on its partner's run failed", rider)
            continue
        if is_open([check for check in graded.checks if check.round == row.key]):
            return True
    return False


def hand_over(run: Run, step: Step) -> None:
    """The accepted run counts for the partner too. Inside the transaction that accepts it; whatever goes wrong with
    one rider is that attempt's alone."""
    run.refresh_from_db()
    for rider in _riders(run.attempt):
        try:
            with transaction.atomic():
                _take(rider, run, step)
        except _Gone:
            continue
        except DatabaseError:
            raise  # nothing is wrong with the rider: all of it is done again
        except Exception:
            log.exception("handing run %s over to %s failed", run.pk, rider)
            if move(rider, State.QUEUED, State.ERRORED, reason=Reason.GRADER_ERROR):
                refund(rider)
                tell_of_run(Notice.Kind.TROUBLE, rider, Reason.GRADER_ERROR)


def _take(rider: Attempt, run: Run, step: Step) -> None:
    row = _newest(rider)
    Round.objects.filter(pk=row.pk).update(accepted_run=_copy(run, rider, row))
    if row.number < len(step.rounds):
        is_there = move(rider, State.QUEUED, State.OPEN)
    else:
        graded = grade_now(rider, step, seen_of(rider))
        is_there = close_graded(rider, State.QUEUED, step, _of_own_merit(graded))
    if not is_there:
        raise _Gone


def _of_own_merit(graded: Graded) -> Graded:
    """A board that shows how a measurement spreads has this one already; a ranked one shows each student's answers."""
    return replace(graded, scores=[score for score in graded.scores if BOARDS[score.board].ranked])


def _copy(run: Run, rider: Attempt, row: Round) -> Run:
    """With all that was recorded, so that the partner's pages, regrades and retention need no second rule."""
    last = rider.runs.aggregate(last=Max("number"))["last"] or 0
    copy = Run.objects.get(pk=run.pk)
    copy.pk, copy._state.adding = None, True
    copy.copy_of_id, copy.attempt, copy.round, copy.number = run.pk, rider, row, last + 1
    copy.save(force_insert=True)
    for stored in StoredRecording.objects.filter(run=run).select_related("frame_store"):
        twin = StoredRecording.objects.create(
            run=copy, key=stored.key, position=stored.position, data=stored.data
        )
        if (store := getattr(stored, "frame_store", None)) is not None:
            FrameStore.objects.create(recording=twin, blob=store.blob)
    return copy


def _riders(attempt: Attempt) -> list[Attempt]:
    if attempt.pair_id is None:
        return []
    return list(Attempt.objects.filter(rides_on=attempt.pk, state=State.QUEUED).order_by("pk"))


def _newest(attempt: Attempt) -> Round:
    return attempt.rounds.order_by("-number")[0]
