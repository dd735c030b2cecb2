"""Start-up checks of the engine: limits that could not end a run, and wake-ups that would come twice."""

from __future__ import annotations

import math
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from labs.start import START

# (what must be shorter, what it must be shorter than)
ORDER = [
    ("LABHUB_FIRST_TOKEN_S", "LABHUB_TOTAL_S"),
    ("LABHUB_IDLE_S", "LABHUB_TOTAL_S"),
    ("LABHUB_TOTAL_S", "LABHUB_RUN_S"),
    ("LABHUB_RUN_S", "LABHUB_QUEUED_S"),
    ("LABHUB_PARTNER_S", "LABHUB_QUEUED_S"),
    ("LABHUB_BEAT_S", "LABHUB_LEASE_S"),
    ("LABHUB_CANCEL_POLL_S", "LABHUB_LEASE_S"),
]


@register(START)
def limits_in_order(**_: Any) -> list[CheckMessage]:
    """A thread cannot be ended from outside, so a run lives by its own limits: all there, the inner ones shorter."""
    names = dict.fromkeys(name for pair in ORDER for name in pair)
    values: dict[str, Any] = {name: getattr(settings, name, None) for name in names}
    endless = [name for name, value in values.items() if not _is_a_time(value)]
    if endless:
        hint = "Give a number of seconds above 0."
        return [Error(f"{name} is no limit: {values[name]}.", hint=hint, id="labs.E003") for name in endless]
    return [
        Error(
            f"{short} ({values[short]:g} s) must be shorter than {long} ({values[long]:g} s).", id="labs.E003"
        )
        for short, long in ORDER
        if values[short] >= values[long]
    ]


@register(START)
def wake_ups_are_acknowledged_early(**_: Any) -> list[CheckMessage]:
    """A driver's task lasts for hours: with late acknowledgement the broker would hand it out again and again."""
    if not settings.CELERY_TASK_ACKS_LATE and not getattr(
        settings, "CELERY_TASK_REJECT_ON_WORKER_LOST", False
    ):
        return []
    hint = "Leave it off: the database keeps what is to be done, and the sweep repeats lost wake-ups."
    return [Error("Celery is told to acknowledge wake-ups late.", hint=hint, id="labs.E004")]


def _is_a_time(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value > 0
