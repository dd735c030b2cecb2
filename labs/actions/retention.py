"""Raw frames go after LABHUB_FRAMES_DAYS. Figures, grades and the hashes of their evidence stay.

Without its frames an attempt cannot be graded again by a rule that reads them: a regrade keeps what it had.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Min, OuterRef, QuerySet, Sum
from django.db.models.functions import Length, Now
from django.utils import timezone

from labs.models import TERMINAL, FrameStore, Run

log = logging.getLogger(__name__)

# Runs a transaction: a few megabytes, so that nobody waits for it.
RUNS_AT_ONCE = 20
# The sweep looks again so long after it found nothing to remove.
LOOK_EVERY_S = 600


@dataclass(frozen=True, slots=True)
class Due:
    """What would go: runs, their recordings' frames, the bytes these take, and the oldest attempt's end."""

    runs: int
    frames: int
    size_bytes: int
    oldest: datetime | None


def due_runs(days: float) -> QuerySet[Run]:
    """Runs with frames, of attempts that ended more than `days` ago, oldest first."""
    frames = FrameStore.objects.filter(recording__run=OuterRef("pk"))
    return Run.objects.filter(
        Exists(frames),
        attempt__state__in=TERMINAL,
        attempt__finished_at__lt=timezone.now() - timedelta(days=days),
    ).order_by("attempt__finished_at", "pk")


def preview(days: float) -> Due:
    runs = due_runs(days)
    frames = FrameStore.objects.filter(recording__run__in=runs.order_by().values("pk"))
    size = frames.aggregate(size=Sum(Length("blob")))["size"]
    oldest = runs.aggregate(oldest=Min("attempt__finished_at"))["oldest"]
    return Due(runs.count(), frames.count(), size or 0, oldest)


def remove_frames(days: float, runs_at_once: int = RUNS_AT_ONCE) -> int:
    """One transaction: the frames of some runs that are due. Returns how many runs; 0 when none is left."""
    with transaction.atomic():
        runs = list(due_runs(days).values_list("pk", flat=True)[:runs_at_once])
        FrameStore.objects.filter(recording__run__in=runs).delete()
        Run.objects.filter(pk__in=runs).update(frames_removed_at=Now())
    if runs:
        log.info("retention: raw frames of %d runs removed, older than %g days", len(runs), days)
    return len(runs)


class Retention:
    """The sweep's own: one small transaction a pass while there is something to remove, else a look now and then."""

    def __init__(self) -> None:
        self._look_at_s = 0.0

    def step(self) -> None:
        days = settings.LABHUB_FRAMES_DAYS
        if days <= 0 or time.monotonic() < self._look_at_s:
            return
        if not remove_frames(days):
            self._look_at_s = time.monotonic() + LOOK_EVERY_S
