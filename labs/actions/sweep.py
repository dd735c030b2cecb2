"""The sweep: every state that is not terminal has a limit, and whatever a lost process left behind is ended here."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from labs.actions.change import move, refund
from labs.actions.claim import waiting
from labs.actions.finish import MOST_RUNS, end_cancelled, end_or_repeat, runs_so_far
from labs.actions.grade import close_graded
from labs.actions.wake import wake
from labs.models import Attempt, Endpoint, Lease, Reason, Run, State
from labs.sheets import seen_of
from labs.steps import all_steps

log = logging.getLogger(__name__)

PROBE_EVERY_S = 10


def sweep_once() -> None:
    """One pass. Each repair is a transaction of its own, so one that fails does not stop the others."""
    for lease in Lease.objects.filter(expires_at__lt=Now()).exclude(holder=""):
        end_lost(lease)
    for run in Run.objects.filter(outcome=Run.Outcome.NONE, lease__isnull=True, started_at__lt=_before(5)):
        end_orphan(run)
    for attempt in Attempt.objects.filter(
        state=State.OPEN, changed_at__lt=_before(settings.LABHUB_OPEN_ATTEMPT_S)
    ):
        expire_open(attempt)
    for attempt in Attempt.objects.filter(
        state=State.QUEUED, changed_at__lt=_before(settings.LABHUB_QUEUED_S)
    ):
        expire_queued(attempt)
    from labs.tasks import drive, probe_endpoints  # tasks imports the actions

    if waiting().exists():
        wake(drive)
    if Endpoint.objects.filter(Q(probed_at__isnull=True) | Q(probed_at__lt=_before(PROBE_EVERY_S))).exists():
        wake(probe_endpoints)


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
    if attempt.cancel_requested:
        end_cancelled(attempt, run.round, charged=False)
    else:
        end_or_repeat(attempt, Reason.WORKER_LOST, again=runs_so_far(run.round) < MOST_RUNS)


def expire_open(attempt: Attempt) -> None:
    """The student never came back: what was recorded is graded; without a run nothing is charged."""
    step = all_steps().get(attempt.step)
    with transaction.atomic():
        seen = seen_of(attempt)
        if step is not None and any(round_.run for round_ in seen.values()):
            close_graded(attempt, State.OPEN, step, step.grade(seen))
        elif move(attempt, State.OPEN, State.CANCELLED, reason=Reason.TIME_LIMIT):
            refund(attempt)


def expire_queued(attempt: Attempt) -> None:
    with transaction.atomic():
        if move(attempt, State.QUEUED, State.ERRORED, reason=Reason.ENDPOINT_DOWN):
            refund(attempt)


def _before(seconds: float) -> CombinedExpression:
    return Now() - timedelta(seconds=seconds)
