"""When a course's personal data go."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings

from labs.models import Course


def days_kept(course: Course) -> int | None:
    """So long after its end the course keeps personal data; None: nothing is said, and they stay."""
    if course.erase_after_days is not None:
        return course.erase_after_days
    return settings.LABHUB_ERASE_AFTER_DAYS or None


def erases_at(course: Course) -> datetime | None:
    days = days_kept(course)
    return None if course.ends_at is None or days is None else course.ends_at + timedelta(days=days)
