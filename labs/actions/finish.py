"""Finish a run: store what happened, grade it, and decide what becomes of the attempt. One transaction.

Everything is guarded by the fencing token: a result that comes twice, or after the lease was taken over, changes
nothing and is logged.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from labs.actions.breaker import HELD
from labs.actions.change import move, refund, stop
from labs.actions.claim import Claim, release
from labs.actions.grade import Graded, close_graded, grade_now, is_open
from labs.actions.notify import tell_of_run
from labs.actions.share import hand_over, leaves_a_rider_open
from labs.actions.storable import storable
from labs.grading.checks import Check
from labs.measure.frames import pack_frames
from labs.measure.outcome import Drive
from labs.models import Attempt, Endpoint, FrameStore, Notice, Reason, Round, Run, State, StoredRecording
from labs.sheets import RUN_FACTS, seen_of, seen_round
from labs.steps import all_steps

log = logging.getLogger(__name__)

MOST_RUNS = 3
RETURN_AFTER_S = 5
# Faults of the server that a further run may outlive; the others end the attempt at once.
PASSING = {
    Reason.ENDPOINT_DOWN,
    Reason.WORKER_LOST,
    Reason.FIRST_TOKEN_TIMEOUT,
    Reason.IDLE_TIMEOUT,
    Reason.BAD_STREAM,
    Reason.SLOT_DISTURBED,
}


class _Stale(Exception):
    """The lease is no longer ours, or the run was finished before."""


def finish(claim: Claim, drive: Drive) -> bool:
    """Stores and grades one run. False when the result came too late or twice; then nothing changed."""
    outcome, reason, detail = Run.Outcome(drive.outcome), Reason(drive.reason), drive.detail
    graded = Graded(())
    if outcome in {Run.Outcome.RECORDED, Run.Outcome.DISTURBED}:
        try:
            graded = _grade(claim, drive)
        except Exception as error:  # a fault of ours must never cost a student; it is kept for the instructor
            log.exception("grading run %s of %s failed", claim.run.number, claim.attempt)
            outcome, reason, detail = Run.Outcome.ERRORED, Reason.GRADER_ERROR, repr(error)
        else:
            if outcome is Run.Outcome.RECORDED and (
                is_open(_of_round(graded, claim.round)) or leaves_a_rider_open(claim.attempt, drive.record)
            ):
                outcome = Run.Outcome.INCONCLUSIVE
    try:
        with transaction.atomic():
            _store(claim, drive, outcome, reason, detail)
            _settle(claim, outcome, reason, graded)
    except _Stale:
        log.warning(
            "late result of run %s of %s ignored (token %s)", claim.run.number, claim.attempt, claim.run.token
        )
        return False
    return True


def put_back(claim: Claim, detail: str = "") -> bool:
    """Nothing was sent: the server was busy or away. The attempt waits again, at no cost and uncounted."""
    try:
        with transaction.atomic():
            _end_run(claim, Run.Outcome.NOT_IDLE, Reason.NONE, detail)
            _requeue(claim.attempt)
    except _Stale:
        return False
    return True


def _grade(claim: Claim, drive: Drive) -> Graded:
    seen = seen_of(claim.attempt)
    seen[claim.round.key] = seen_round(claim.round, drive.record)
    return grade_now(claim.attempt, all_steps()[claim.attempt.step], seen)


def _of_round(graded: Graded, round_: Round) -> list[Check]:
    return [check for check in graded.checks if check.round == round_.key]


def _store(claim: Claim, drive: Drive, outcome: Run.Outcome, reason: Reason, detail: str) -> None:
    record = drive.record
    if record.lab_line:  # the next run's must differ from its first letter on, so that cold is cold
        Endpoint.objects.filter(pk=claim.run.endpoint_id).update(last_lab_line=record.lab_line)
    _end_run(
        claim,
        outcome,
        reason,
        detail,
        facts=storable(
            {"server": record.server.to_json(), **{name: getattr(record, name) for name in RUN_FACTS}}
        ),
    )
    for position, (key, recording) in enumerate(record.recordings.items()):
        stored = StoredRecording.objects.create(
            run=claim.run, key=key, position=position, data=storable(replace(recording, frames=()).to_json())
        )
        if recording.frames:
            FrameStore.objects.create(recording=stored, blob=pack_frames(recording.frames))


def _end_run(claim: Claim, outcome: Run.Outcome, reason: Reason, detail: str, **fields: object) -> None:
    # Lease, run, attempt: the sweep and the claim take them in this order too, so nobody waits in a circle.
    if not release(claim.run):
        raise _Stale
    ended = Run.objects.filter(pk=claim.run.pk, outcome=Run.Outcome.NONE).update(
        outcome=outcome, reason=reason, detail=storable(detail[:500]), ended_at=Now(), **fields
    )
    if not ended:
        raise _Stale


def _settle(claim: Claim, outcome: Run.Outcome, reason: Reason, graded: Graded) -> None:
    attempt = claim.attempt
    if attempt_is_cancelled(attempt) or outcome is Run.Outcome.CANCELLED:
        end_cancelled(attempt)
        return
    again = runs_so_far(claim.round) < MOST_RUNS
    match outcome:
        case Run.Outcome.RECORDED:
            _accept(claim, graded)
        case Run.Outcome.DISTURBED | Run.Outcome.INCONCLUSIVE:
            _requeue(attempt) if again else _accept(claim, graded)
            if again and outcome is Run.Outcome.DISTURBED:
                tell_of_run(Notice.Kind.RETURNED, attempt, Reason.SLOT_DISTURBED)
        case _:
            end_or_repeat(attempt, reason, again=again)


def _accept(claim: Claim, graded: Graded) -> None:
    """This run counts for the round: a later round then waits for the student, or the attempt is graded."""
    step = all_steps()[claim.attempt.step]
    Round.objects.filter(pk=claim.round.pk).update(accepted_run=claim.run)
    hand_over(claim.run, step)
    if claim.round.number < len(step.rounds):
        _wait(claim.attempt, State.OPEN)
    elif not close_graded(claim.attempt, State.RUNNING, step, graded):
        raise _Stale


def runs_so_far(round_: Round) -> int:
    """Runs that count towards the limit; being put back unsent, or by an admin, does not."""
    unsent = Q(outcome=Run.Outcome.NOT_IDLE) | Q(reason=Reason.ENDED_BY_ADMIN)
    return round_.runs.exclude(unsent).count()


def attempt_is_cancelled(attempt: Attempt) -> bool:
    return Attempt.objects.filter(pk=attempt.pk, cancel_requested=True).exists()


def end_cancelled(attempt: Attempt) -> None:
    if not stop(attempt, State.RUNNING):
        raise _Stale


def end_or_repeat(attempt: Attempt, reason: Reason, *, again: bool) -> None:
    """A run that gave nothing to grade: repeated while it may help, then errored and given back."""
    if again and reason in PASSING:
        _requeue(attempt)
        tell_of_run(Notice.Kind.RETURNED, attempt, reason)
        return
    if not move(attempt, State.RUNNING, State.ERRORED, reason=reason):
        raise _Stale
    refund(attempt)
    tell_of_run(Notice.Kind.TROUBLE, attempt, reason)


def _requeue(attempt: Attempt) -> None:
    """Back to the head of the queue: `queued_at` stays, and those behind are told (`returned`)."""
    _wait(attempt, State.QUEUED, returned=True, not_before=Now() + timedelta(seconds=RETURN_AFTER_S))


def _wait(attempt: Attempt, after: State, **fields: Any) -> None:
    """From running to a state that waits. A Stop that came meanwhile has been set by now, and must not wait too."""
    if not move(attempt, State.RUNNING, after, **fields):
        raise _Stale
    if attempt_is_cancelled(attempt):
        stop(attempt, after)


def endpoint_is(endpoint: Endpoint, state: Endpoint.State, detail: str) -> None:
    # By its address too: what was found at the old one says nothing of the new.
    found = Endpoint.objects.filter(pk=endpoint.pk, base_url=endpoint.base_url)
    found.exclude(state__in=HELD).update(state=state, detail=storable(detail[:300]))
