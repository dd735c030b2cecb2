"""The Celery app. Two workers use it: `drive` (streams, a thread an endpoint) and `background` (the rest)."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_after_setup

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "labhub_voice.settings")

app = Celery("labhub_voice")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@celeryd_after_setup.connect
def refuse_bad_settings(**_: Any) -> None:
    """Before the worker takes its first message. Imported late: by now Celery has set Django up."""
    from labs import start

    start.refuse_bad_settings()
