"""Booking endpoints for a course, and giving them free."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from labs.actions.audit import record
from labs.actions.errors import Refused
from labs.actions.wake import wake_drivers_after_commit
from labs.models import Booking, Course, Endpoint
from labs.models.audit import Verb
from labs.rules.clock import written
from labs.text import N_


def book(
    endpoints: Sequence[Endpoint], course: Course, starts_at: datetime, ends_at: datetime, by: User
) -> None:
    """All of them or none. Raises Refused where one of them is booked for a part of that time, or the time is over."""
    if ends_at <= starts_at or ends_at <= timezone.now():
        raise Refused(N_("A booking ends after it begins, and not in the past."))
    with transaction.atomic():
        # Two admins at once: the second waits here, and then sees the first one's row. (On SQLite the transaction
        # itself is the only writer.)
        ids = [endpoint.pk for endpoint in endpoints]
        list(Endpoint.objects.select_for_update().filter(pk__in=ids).order_by("pk"))
        taken = (
            Booking.objects.filter(endpoint__in=ids, starts_at__lt=ends_at, ends_at__gt=starts_at)
            .select_related("endpoint", "course")
            .first()
        )
        if taken is not None:
            raise Refused(
                N_(
                    "%(server)s is booked for %(course)s from %(start)s until %(end)s.",
                    server=taken.endpoint.name,
                    course=taken.course.title,
                    start=written(taken.starts_at, course.zone),
                    end=written(taken.ends_at, course.zone),
                )
            )
        for endpoint in endpoints:
            Booking.objects.create(
                endpoint=endpoint, course=course, starts_at=starts_at, ends_at=ends_at, by=by
            )
            record(
                Verb.DONE,
                by,
                course=course,
                what=f"book {endpoint}",
                starts=starts_at.isoformat(),
                ends=ends_at.isoformat(),
            )


def unbook(booking: Booking, by: User) -> None:
    """One that has begun ends now and stays in the list; one that has not is gone."""
    now = timezone.now()
    with transaction.atomic():
        begun = Booking.objects.filter(pk=booking.pk, starts_at__lt=now, ends_at__gt=now).update(ends_at=now)
        if not begun and not Booking.objects.filter(pk=booking.pk, starts_at__gte=now).delete()[0]:
            return
        record(Verb.DONE, by, course=booking.course, what=f"end booking of {booking.endpoint}")
    wake_drivers_after_commit()
