"""What a person is told about their work, and who looked at their pages as they see them."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from labs.models.attempt import Attempt
from labs.models.course import Course


class Notice(models.Model):
    """One piece of news for `user`, written in the transaction of what it tells.

    It holds facts and no sentence: what may be said depends on what is held back at the moment of reading.
    `by` is who did it, where that was a person; `details` holds nothing that names anybody.
    """

    class Kind(models.TextChoices):
        VERDICT = "verdict"
        REGRADED = "regraded"
        POINTS = "points"
        RELEASED = "released"
        EXTENDED = "extended"
        RETURNED = "returned"
        TROUBLE = "trouble"
        VIEWED = "viewed"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="notices")
    course = models.ForeignKey(Course, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=16)  # a Kind; without choices, so that a new one needs no migration
    step = models.SlugField(blank=True)
    attempt = models.ForeignKey(Attempt, models.CASCADE, null=True, related_name="+")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    details = models.JSONField(default=dict)
    at = models.DateTimeField(auto_now_add=True)
    read_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["user", "read_at", "-id"])]
        ordering = ["-pk"]


class Viewing(models.Model):
    """An instructor sees a student's pages of one course as the student does, until `until` or `ended_at`.

    It belongs to one session, which holds its id; with the session it ends.
    """

    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    whom = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="viewings")
    course = models.ForeignKey(Course, models.CASCADE, related_name="+")
    began_at = models.DateTimeField(auto_now_add=True)
    until = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["whom", "-id"]), models.Index(fields=["ended_at", "until"])]
        ordering = ["-pk"]
