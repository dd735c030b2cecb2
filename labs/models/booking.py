"""An endpoint that is one course's alone for a while."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from labs.models.course import Course
from labs.models.endpoint import Endpoint


class BookingQuerySet(models.QuerySet["Booking"]):
    def at(self, moment: datetime | Now) -> BookingQuerySet:
        """Those in force then; the first moment counts, the last does not."""
        return self.filter(starts_at__lte=moment, ends_at__gt=moment)


class Booking(models.Model):
    """From `starts_at` until `ends_at` only the course's attempts go there. Of one endpoint no two overlap."""

    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="bookings")
    course = models.ForeignKey(Course, models.CASCADE, related_name="bookings")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    made_at = models.DateTimeField(auto_now_add=True)

    objects = BookingQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(ends_at__gt=F("starts_at")), name="a_booking_ends_after_it_starts"
            )
        ]
        indexes = [models.Index(fields=["endpoint", "ends_at"])]
        ordering = ["starts_at", "pk"]

    def __str__(self) -> str:
        return f"{self.endpoint} for {self.course}"
