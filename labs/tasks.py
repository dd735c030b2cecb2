"""Celery tasks: wake-ups without ids. The database decides what there is to do."""

from __future__ import annotations

from celery import shared_task
from celery.worker import state

from labs.actions.execute import drive_all
from labs.actions.probe import probe_due
from labs.actions.regrade.build import build_due


@shared_task(name="labs.tasks.drive", ignore_result=True, acks_late=False)
def drive() -> None:
    """Runs in the driver worker: a thread claims and executes until nothing is left.

    Told to end, the worker waits for its threads: after the present run they claim no other.
    """
    drive_all(stopping=lambda: state.should_stop is not None)


@shared_task(name="labs.tasks.probe_endpoints", ignore_result=True)
def probe_endpoints() -> None:
    """Runs in the background worker."""
    probe_due()


@shared_task(name="labs.tasks.build_regrades", ignore_result=True)
def build_regrades() -> None:
    """Runs in the background worker."""
    build_due()
