"""Read side of practice: how much of a course's quota in machine-seconds a student has used."""

from __future__ import annotations

import math
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser, User

from labs.models import Course, Run

# What a student pays for: runs that gave what they were for, and those that they stopped. What a server spoilt is free.
PAID = (Run.Outcome.RECORDED, Run.Outcome.CANCELLED)


@dataclass(frozen=True, slots=True)
class Quota:
    """Whole seconds. The last run may take longer than what was left: it is let to its end."""

    used_s: int
    all_s: int

    @property
    def left_s(self) -> int:
        return max(0, self.all_s - self.used_s)

    @property
    def is_used_up(self) -> bool:
        return self.left_s == 0


def quota_of(user: User | AnonymousUser, course: Course) -> Quota:
    """A run costs as long as it had a server to itself: from its lease's begin to its end. One query."""
    runs = Run.objects.filter(
        attempt__user=user.pk,
        attempt__course=course,
        attempt__practice=True,
        outcome__in=PAID,
        ended_at__isnull=False,
    )
    held_s = sum(
        (ended_at - started_at).total_seconds()
        for started_at, ended_at in runs.values_list("started_at", "ended_at")
        if ended_at is not None
    )
    return Quota(math.ceil(held_s), course.practice_s)
