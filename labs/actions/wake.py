"""Wake-ups: a message without an id that says 'look at the database'. Losing one costs a sweep's period."""

from __future__ import annotations

import logging

from celery import Task
from django.db import transaction
from kombu.exceptions import OperationalError

from labs.logs import bound_words

log = logging.getLogger(__name__)


def wake(task: Task[[], None]) -> bool:
    """Sends one wake-up now. A dead broker gives False, never an error: the sweep repeats it."""
    try:
        # For the log only: whose request woke the worker. What it then does, the database decides.
        woken_by = bound_words().get("request")
        headers = {"labhub_request": woken_by} if woken_by else {}
        task.apply_async(retry=False, ignore_result=True, headers=headers)
    except (OperationalError, OSError) as error:
        log.warning("no wake-up for %s: %s", task.name, error)
        return False
    return True


def wake_drivers_after_commit() -> None:
    from labs.tasks import drive  # tasks imports the actions

    # Robust: by now the attempt is saved, and whatever fails here is no error of the student's.
    transaction.on_commit(lambda: wake(drive), robust=True)
