"""The Celery app. Two workers use it: `drive` (streams, a thread an endpoint) and `background` (the rest)."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "labhub_voice.settings")

app = Celery("labhub_voice")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
