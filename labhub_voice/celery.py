"""The Celery app. Two workers use it: `drive` (streams, a thread an endpoint) and `background` (the rest)."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_after_setup, setup_logging, task_postrun, task_prerun, worker_ready

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "labhub_voice.settings")

app = Celery("labhub_voice")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def leave_logging_alone(**_: Any) -> None:
    """Django's LOGGING holds for workers too: the same lines, format and level everywhere."""


@celeryd_after_setup.connect
def refuse_bad_settings(**_: Any) -> None:
    """Before the worker takes its first message. Imported late: by now Celery has set Django up."""
    from labs import start

    start.refuse_bad_settings()


@task_prerun.connect
def begin_lines(task: Any, task_id: str, **_: Any) -> None:
    """Every line of a task says which, and whose request woke it. A thread of the pool runs one after the other."""
    from labs.logs import put_on

    put_on(task=task.name, task_id=task_id, request=task.request.get("labhub_request"))


@task_postrun.connect
def end_lines(**_: Any) -> None:
    from labs.logs import take_off

    take_off()


@worker_ready.connect
def report_figures(sender: Any, **_: Any) -> None:
    """By the queue that it reads: drive or background, whatever the worker is called."""
    from labs.metrics.share import Reporter

    Reporter("drive" if "drive" in app.amqp.queues.consume_from else "background").start()


@worker_ready.connect
def settle(**_: Any) -> None:
    from labs import start

    start.settle()
