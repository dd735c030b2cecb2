"""The sweep: every state that is not terminal has a limit, and whatever a lost process left behind is ended here."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import F, Model, Q, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from labs.actions.canaries import due as canaries_due
from labs.actions.change import move, refund
from labs.actions.claim import waiting
from labs.actions.erase.apply import Erasing
from labs.actions.finish import MOST_RUNS, end_cancelled, end_or_repeat, runs_so_far
from labs.actions.grade import close_graded, grade_now
from labs.actions.notify import tell_of_run
from labs.actions.pauses import closed_steps
from labs.actions.probe import due
from labs.actions.regrade.apply import cancel as cancel_regrade
from labs.actions.regrade.build import overdue, stalled
from labs.actions.retention import Retention
from labs.actions.rules import due_releases, release_at_its_time
from labs.actions.share import hand_over
from labs.actions.view_as import end as end_viewing
from labs.actions.view_as import overdue as viewings_overdue
from labs.actions.wake import wake
from labs.logs import bound
from labs.metrics.own import SWEEP_AT, SWEEP_FAILED
from labs.models import Attempt, Lease, Notice, Reason, RegradeSet, Round, Run, State
from labs.sheets import seen_of
from labs.steps import all_steps

log = logging.getLogger(__name__)

Row = TypeVar("Row", bound=Model)
_retention = Retention()
_erasing = Erasing()


def sweep_once() -> None:
    """One pass. Each repair stands alone: one that fails is logged, and the others and the wake-ups still come."""
    _each(Lease.objects.filter(expires_at__lt=Now()).exclude(holder=""), end_lost)
    _each(
        Run.objects.filter(outcome=Run.Outcome.NONE, lease__isnull=True, started_at__lt=_before(5)),
        end_orphan,
    )
    _each(
        Attempt.objects.filter(state=State.RUNNING, changed_at__lt=_before(5)).exclude(
            runs__outcome=Run.Outcome.NONE
        ),
        end_runless,
    )
    _each(
        Attempt.objects.filter(state=State.OPEN).filter(
            Q(changed_at__lt=_before(settings.LABHUB_OPEN_ATTEMPT_S)) | Q(course__ends_at__lte=Now())
        ),
        expire_open,
    )
    # Not by `changed_at`: being put back by a busy server again and again is waiting as well.
    _each(
        Attempt.objects.filter(state=State.QUEUED, queued_at__lt=_before(settings.LABHUB_QUEUED_S)),
        expire_queued,
    )
    _each(overdue(), give_up_regrade)
    _each(viewings_overdue(), end_viewing)
    _each(due_releases(), release_at_its_time)
    _each(
        Attempt.objects.filter(
            state=State.QUEUED,
            step__in=closed_steps(),
            changed_at__lt=_before(settings.LABHUB_PAUSED_S),
            rides_on=None,
        ),
        end_paused,
    )
    _each(
        Attempt.objects.filter(rides_on__isnull=False, state=State.QUEUED).exclude(
            rides_on__state__in=[State.QUEUED, State.RUNNING]
        ),
        end_ride,
    )
    _do(_retention.step)
    _do(_erasing.step)
    _do(_send_wake_ups)
    SWEEP_AT.set_to_current_time()


def _send_wake_ups() -> None:
    from labs.tasks import build_regrades, drive, probe_endpoints  # tasks imports the actions

    if waiting().exists() or canaries_due().exists():
        wake(drive)
    if due().exists():
        wake(probe_endpoints)
    if stalled().exists():
        wake(build_regrades)


def _each(found: QuerySet[Row], repair: Callable[[Row], object]) -> None:
    for row in found:
        with bound(repair=repair.__name__, **{type(row).__name__.lower(): row.pk}):
            try:
                repair(row)
            except Exception:
                SWEEP_FAILED.inc()
                log.exception("sweep: %s of %s %s failed", repair.__name__, type(row).__name__, row.pk)


def _do(step: Callable[[], None]) -> None:
    try:
        step()
    except Exception:
        SWEEP_FAILED.inc()
        log.exception("sweep: %s failed", step.__qualname__)


def end_lost(lease: Lease) -> None:
    """The lease ran out: its worker is gone or stuck. Taking the token makes its late writes worthless."""
    with transaction.atomic():
        taken = Lease.objects.filter(pk=lease.pk, token=lease.token, expires_at__lt=Now()).update(
            token=F("token") + 1, holder="", run=None, expires_at=None
        )
        if taken and lease.run is not None:
            _end_run(lease.run)


def end_orphan(run: Run) -> None:
    """A run that no lease carries any more."""
    with transaction.atomic():
        _end_run(run)


def _end_run(run: Run) -> None:
    ended = Run.objects.filter(pk=run.pk, outcome=Run.Outcome.NONE).update(
        outcome=Run.Outcome.LOST, reason=Reason.WORKER_LOST, ended_at=Now()
    )
    attempt = run.attempt
    if not ended or attempt.state != State.RUNNING:
        return
    log.warning("run %s of %s lost its worker %s", run.number, attempt, run.worker)
    _lost(attempt, run.round)


def end_runless(attempt: Attempt) -> None:
    """It runs, and has no run: someone deleted the row by hand."""
    with transaction.atomic():
        _lost(attempt, attempt.rounds.latest("number"))


def _lost(attempt: Attempt, round_: Round) -> None:
    if attempt.cancel_requested:
        end_cancelled(attempt)
    else:
        end_or_repeat(attempt, Reason.WORKER_LOST, again=runs_so_far(round_) < MOST_RUNS)


def expire_open(attempt: Attempt) -> None:
    """The student never came back: what was recorded is graded; without a run nothing is charged."""
    step = all_steps().get(attempt.step)
    seen = seen_of(attempt)
    if step is None or not any(round_.run for round_ in seen.values()):
        _give_up(attempt, State.CANCELLED, Reason.TIME_LIMIT)
        return
    try:
        graded = grade_now(attempt, step, seen)
    except Exception:  # a fault of ours; without an end this attempt would come again at every sweep
        log.exception("grading %s at its end failed", attempt)
        _give_up(attempt, State.ERRORED, Reason.GRADER_ERROR)
        return
    with transaction.atomic():
        close_graded(attempt, State.OPEN, step, graded)


def expire_queued(attempt: Attempt) -> None:
    if attempt.practice:  # graded attempts came first all the while, which is no fault of a server
        _give_up(attempt, State.CANCELLED, Reason.TIME_LIMIT)
    else:
        _give_up(attempt, State.ERRORED, Reason.ENDPOINT_DOWN)


def give_up_regrade(regrade: RegradeSet) -> None:
    """It was never built to its end; no grade has changed."""
    log.warning("%s was given up", regrade)
    cancel_regrade(regrade, by=None)


def end_paused(attempt: Attempt) -> None:
    """No server may run this step for now. What an earlier run of the round recorded counts, though it proves
    nothing; without one the attempt ends at no cost, and the student is free for another step."""
    step, round_ = all_steps()[attempt.step], attempt.rounds.order_by("-number")[0]
    run = round_.runs.filter(outcome__in=[Run.Outcome.INCONCLUSIVE, Run.Outcome.DISTURBED]).last()
    if run is None:
        _give_up(attempt, State.ERRORED, Reason.STEP_PAUSED)
        return
    with transaction.atomic():
        Round.objects.filter(pk=round_.pk, accepted_run=None).update(accepted_run=run)
        hand_over(run, step)
        if round_.number < len(step.rounds):
            ended = move(attempt, State.QUEUED, State.OPEN)
        else:
            ended = close_graded(attempt, State.QUEUED, step, grade_now(attempt, step, seen_of(attempt)))
        if not ended:  # a worker has claimed it meanwhile: its run is the one that may count
            transaction.set_rollback(True)


def end_ride(attempt: Attempt) -> None:
    """What it rode on is over, and nothing came of it: it runs by itself."""
    Attempt.objects.filter(pk=attempt.pk, rides_on=attempt.rides_on_id).update(
        rides_on=None, version=F("version") + 1
    )


def _give_up(attempt: Attempt, after: State, reason: Reason) -> None:
    """From where the attempt was found, at no cost."""
    with transaction.atomic():
        if move(attempt, State(attempt.state), after, reason=reason):
            refund(attempt)
            tell_of_run(Notice.Kind.TROUBLE, attempt, reason)


def _before(seconds: float) -> CombinedExpression:
    return Now() - timedelta(seconds=seconds)
