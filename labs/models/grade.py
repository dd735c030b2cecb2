"""Grades: an append-only list of events, and a pointer to the one that counts."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from labs.models.attempt import Attempt
from labs.models.course import Course


class GradeEvent(models.Model):
    """One grading of one attempt. `checks` is a list of labs.grading.checks.Check as JSON; never updated."""

    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="grade_events")
    step_version = models.PositiveSmallIntegerField()
    points = models.PositiveSmallIntegerField()
    open_points = models.PositiveSmallIntegerField(default=0)
    checks = models.JSONField()
    evidence_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at", "pk"]


class Grade(models.Model):
    """What counts for a student's step: the best graded attempt's event."""

    course = models.ForeignKey(Course, models.CASCADE, related_name="grades")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="grades")
    step = models.SlugField()
    event = models.ForeignKey(GradeEvent, models.PROTECT)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["course", "user", "step"], name="one_grade_a_step")]
