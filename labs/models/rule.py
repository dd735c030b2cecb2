"""A course's rules for a step, and what single students are given beyond them. Both only grow; the newest counts."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from labs.models.course import Course
from labs.rules.window import Late


class StepRule(models.Model):
    """The newest row of a step is in force; a step without one is open and never due.

    Times are instants; `zone` is where they were entered, where days are counted and in which they are said.
    `attempts` None: as many as the course gives. `points` None: the step's own; else what it counts in the course.
    While `holds_scores`, and until `release_at` where that is set, students see no points and no verdicts.
    `release_told`: they have heard that the time had come, or there is nothing to hear.
    """

    course = models.ForeignKey(Course, models.CASCADE, related_name="rules")
    step = models.SlugField()
    zone = models.CharField(max_length=64)
    opens_at = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField(null=True, blank=True)
    late = models.CharField(
        max_length=16, choices=[(late.value, late.value) for late in Late], default=Late.REFUSED.value
    )
    late_percent_a_day = models.PositiveSmallIntegerField(default=0)
    late_floor_percent = models.PositiveSmallIntegerField(default=0)
    ends_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(null=True, blank=True)
    points = models.PositiveSmallIntegerField(null=True, blank=True)
    holds_scores = models.BooleanField(default=False)
    release_at = models.DateTimeField(null=True, blank=True)
    release_told = models.BooleanField(default=False)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["course", "step", "-id"])]
        ordering = ["pk"]


class Extension(models.Model):
    """More time or more attempts for one student, for one step or (`step` empty) for all.

    `days` after the class's due time, or a due time of its own; 0 days: the class's again. `extra_attempts` on top
    of the class's; 0: none any more. A row that says nothing of the one leaves it as it was.
    """

    course = models.ForeignKey(Course, models.CASCADE, related_name="extensions")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="extensions")
    step = models.SlugField(blank=True)
    days = models.PositiveSmallIntegerField(null=True, blank=True)
    due_at = models.DateTimeField(null=True, blank=True)
    zone = models.CharField(max_length=64)
    extra_attempts = models.PositiveSmallIntegerField(null=True, blank=True)
    why = models.CharField(max_length=500)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["course", "user", "-id"])]
        ordering = ["pk"]

    @property
    def is_of_due(self) -> bool:
        return self.days is not None or self.due_at is not None
