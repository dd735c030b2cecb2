"""Wake-ups: a message without an id that says 'look at the database'. Losing one costs a sweep's period."""

from __future__ import annotations

import logging

from celery import Task
from django.db import transaction
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)


def wake(task: Task[[], None]) -> bool:
    """Sends one wake-up now. A dead broker gives False, never an error: the sweep repeats it."""
    try:
        task.apply_async(retry=False, ignore_result=True)
    except (OperationalError, OSError) as error:
        log.warning("no wake-up for %s: %s", task.name, error)
        return False
    return True


def wake_drivers_after_commit() -> None:
    from labs.tasks import drive  # tasks imports the actions

    # Robust: by now the attempt is saved, and whatever fails here is no error of the student's.
    transaction.on_commit(lambda: wake(drive), robust=True)
