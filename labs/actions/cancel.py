"""Stop an attempt. While it runs, this only raises a flag; the worker writes what it has, then `cancelled`."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from labs.actions.change import stop
from labs.models import LIVE, Attempt, State


def cancel(attempt: Attempt) -> Attempt:
    """Ends a queued or open attempt at once, asks a running one to stop. An ended attempt stays as it is."""
    with transaction.atomic():
        # The flag first: whoever moves the attempt from here on sees it, and on Postgres has to wait for us.
        Attempt.objects.filter(pk=attempt.pk, state__in=LIVE, cancel_requested=False).update(
            cancel_requested=True, version=F("version") + 1, changed_at=Now()
        )
        if not stop(attempt, State.QUEUED):
            stop(attempt, State.OPEN)
    attempt.refresh_from_db()
    return attempt
