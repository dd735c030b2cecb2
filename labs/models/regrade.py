"""Regrading: the limits that a course sets for a step, and a set of new verdicts beside the old ones."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from labs.models.attempt import Attempt
from labs.models.course import Course


class StepLimits(models.Model):
    """`values` holds what differs from the step's own limits (labs.grading.limits), by key. The highest version
    is in force; a course without a row, and version 0 of a grade, mean the step's own."""

    course = models.ForeignKey(Course, models.CASCADE, related_name="limits")
    step = models.SlugField()
    version = models.PositiveSmallIntegerField()
    values = models.JSONField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["course", "step", "version"], name="one_limits_a_version")
        ]


class RegradeSet(models.Model):
    """One regrade of a course's step: built beside the grades that count, then applied or cancelled, once.

    `limits` are those it was built with; applying puts them in force as `limits_version`. `digest` is over all its
    rows: equal rows give an equal one. `beat_at` is when the build last went on.
    """

    class State(models.TextChoices):
        BUILDING = "building"
        PREVIEW = "preview"
        APPLIED = "applied"
        CANCELLED = "cancelled"

    course = models.ForeignKey(Course, models.CASCADE, related_name="regrades")
    step = models.SlugField()
    step_version = models.PositiveSmallIntegerField()
    limits = models.JSONField(default=dict)
    limits_version = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(max_length=16, choices=State.choices, default=State.BUILDING)
    why = models.CharField(max_length=300, blank=True)
    digest = models.CharField(max_length=64, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    beat_at = models.DateTimeField()
    ended_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["course", "step"],
                condition=Q(state__in=["building", "preview"]),
                name="one_open_regrade_a_step",
            )
        ]
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"regrade {self.pk} of {self.step}: {self.state}"

    @property
    def is_open(self) -> bool:
        return self.state in (self.State.BUILDING, self.State.PREVIEW)


class RegradeRow(models.Model):
    """One attempt in a set. `points` is None where it is kept as it was, and `kept` says why.

    `checks` are the new ones where anything differs, until applying has made an event of them; else None.
    """

    class Kept(models.TextChoices):
        NO = ""
        FRAMES_PURGED = "frames_purged"
        GRADER_ERROR = "grader_error"
        NOTHING_RECORDED = "nothing_recorded"
        CHANGED_MEANWHILE = "changed_meanwhile"

    set = models.ForeignKey(RegradeSet, models.CASCADE, related_name="rows")
    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="regrade_rows")
    before = models.ForeignKey("GradeEvent", models.CASCADE, null=True, related_name="+")
    old_points = models.PositiveSmallIntegerField(null=True)
    points = models.PositiveSmallIntegerField(null=True)
    open_points = models.PositiveSmallIntegerField(default=0)
    kept = models.CharField(max_length=20, choices=Kept.choices, blank=True)
    detail = models.CharField(max_length=300, blank=True)
    checks = models.JSONField(null=True)
    evidence_hash = models.CharField(max_length=64, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["set", "attempt"], name="one_regrade_row_an_attempt")]
