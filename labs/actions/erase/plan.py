"""Whose data are due, and what would become of each: the preview, and what the erasing goes by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from labs.ends import erases_at
from labs.models import TERMINAL, Attempt, Course, Enrolment, FrameStore, Role


@dataclass(frozen=True, slots=True)
class Person:
    """`keeps_account`: they take part elsewhere, or work for the site; then only this course forgets who they are.
    `waits`: an attempt of theirs is under way still, which the sweep ends first."""

    enrolment: Enrolment
    attempts: int
    recordings_with_frames: int
    keeps_account: bool
    waits: bool


def named(course: Course) -> QuerySet[Enrolment]:
    """The course's students whose names are still there, those who left among them."""
    return Enrolment.objects.filter(course=course, role=Role.STUDENT, erased_at=None).order_by("pk")


def due_courses(now: datetime) -> Iterator[Course]:
    """Those whose time has come and that are not done."""
    ended = Course.objects.filter(ends_at__lte=now).order_by("pk")
    left = Enrolment.objects.filter(course=OuterRef("pk"), role=Role.STUDENT, erased_at=None)
    for course in ended.filter(Q(erased_at=None) | Q(Exists(left))):
        at = erases_at(course)
        if at is not None and at <= now:
            yield course


def people(course: Course) -> list[Person]:
    """By login."""
    found = list(named(course).select_related("user").order_by("user__username"))
    users = [one.user_id for one in found]
    of_course = Attempt.objects.filter(course=course)
    attempts = dict(of_course.values_list("user").annotate(count=Count("pk")))
    frames = dict(
        FrameStore.objects.filter(recording__run__attempt__course=course)
        .values_list("recording__run__attempt__user")
        .annotate(count=Count("pk"))
    )
    busy = set(of_course.exclude(state__in=TERMINAL).values_list("user", flat=True))
    kept = set(kept_accounts(course).filter(pk__in=users).values_list("pk", flat=True))
    return [
        Person(
            one,
            attempts.get(one.user_id, 0),
            frames.get(one.user_id, 0),
            one.user_id in kept,
            one.user_id in busy,
        )
        for one in found
    ]


def kept_accounts(course: Course) -> QuerySet[User]:
    """Accounts that are needed beyond this course."""
    elsewhere = Enrolment.objects.filter(user=OuterRef("pk")).exclude(course=course)
    work_elsewhere = Attempt.objects.filter(user=OuterRef("pk")).exclude(course=course)
    return User.objects.filter(
        Q(is_staff=True) | Q(is_superuser=True) | Q(Exists(elsewhere)) | Q(Exists(work_elsewhere))
    )
