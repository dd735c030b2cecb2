"""Taking a run away from the worker that drives it. Its late result is ignored: the token has moved on."""

from __future__ import annotations

from django.db.models import F
from django.db.models.functions import Now

from labs.models import Attempt, Lease, Reason, Run


def interrupt(run: Run) -> bool:
    """Inside the caller's transaction; what becomes of the attempt is the caller's. False: the run has ended.

    The worker hears of it at its next heartbeat and cuts its streams; until then the slots are not idle, and
    whoever claims the endpoint waits for that.
    """
    # Lease, run, attempt, in the order of the claim and of the finish.
    Lease.objects.filter(endpoint_id=run.endpoint_id, token=run.token, run=run).update(
        token=F("token") + 1, holder="", run=None, expires_at=None
    )
    return bool(
        Run.objects.filter(pk=run.pk, outcome=Run.Outcome.NONE).update(
            outcome=Run.Outcome.LOST, reason=Reason.ENDED_BY_ADMIN, ended_at=Now()
        )
    )


def open_run(attempt: Attempt) -> Run | None:
    """The run that has not ended; None also where the attempt runs without one."""
    return attempt.runs.filter(outcome=Run.Outcome.NONE).order_by("-number").first()
