"""Stop an attempt. While it runs, this only raises a flag; the worker writes what it has, then `cancelled`."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from labs.actions.change import move, refund
from labs.models import Attempt, State


def cancel(attempt: Attempt) -> Attempt:
    """Ends a queued or open attempt at once, asks a running one to stop. An ended attempt stays as it is."""
    with transaction.atomic():
        if move(attempt, State.QUEUED, State.CANCELLED):
            if not attempt.runs.filter(recordings__isnull=False).exists():
                refund(attempt)  # leaving the queue is free
        elif move(attempt, State.OPEN, State.CANCELLED):
            if not attempt.runs.exists():
                refund(attempt)
        else:
            Attempt.objects.filter(pk=attempt.pk, state=State.RUNNING, cancel_requested=False).update(
                cancel_requested=True, version=F("version") + 1, changed_at=Now()
            )
    attempt.refresh_from_db()
    return attempt
