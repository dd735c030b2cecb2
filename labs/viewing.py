"""Looking at a student's pages as the student sees them: whether it still holds."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from labs.models import Course, Enrolment, Role, Viewing

# Where the session keeps the id of its Viewing.
SESSION_KEY = "labs.viewing"
LASTS = timedelta(minutes=30)


def holding() -> QuerySet[Viewing]:
    """Those that hold now: not ended, within their time, still an instructor there, still a student there."""
    taking_part = Enrolment.objects.active().filter(course=OuterRef("course"))
    teaches = taking_part.filter(user=OuterRef("by"), role=Role.INSTRUCTOR)
    studies = taking_part.filter(user=OuterRef("whom"), role=Role.STUDENT)
    return Viewing.objects.filter(
        Q(by__is_staff=True) | Q(Exists(teaches)),
        Exists(studies),
        ended_at=None,
        until__gt=timezone.now(),
        by__is_active=True,
        whom__is_active=True,
        whom__is_staff=False,
        whom__is_superuser=False,
    )


def held(ids: Collection[int]) -> dict[int, Viewing]:
    """Of these viewings those that hold, with their people and course. One query."""
    found = holding().filter(pk__in=ids).select_related("by", "whom", "course")
    return {viewing.pk: viewing for viewing in found}


def viewable(course: Course) -> set[int]:
    """Whose pages the course's instructors may look at: its students. One query."""
    students = Enrolment.objects.active().filter(
        course=course, role=Role.STUDENT, user__is_active=True, user__is_staff=False, user__is_superuser=False
    )
    return set(students.values_list("user_id", flat=True))
