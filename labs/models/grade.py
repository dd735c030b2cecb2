"""Grades: an append-only list of events, and a pointer to the one that counts."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from labs.models.attempt import Attempt
from labs.models.course import Course
from labs.models.regrade import RegradeSet
from labs.rules.score import weight


class GradeEvent(models.Model):
    """One grading of one attempt. `checks` is a list of labs.grading.checks.Check as JSON; never updated.

    An override and its end have no checks: a person gave or took back the points, and `comment` says why.
    """

    class Kind(models.TextChoices):
        AUTO = "auto"
        REGRADE = "regrade"
        OVERRIDE = "override"
        CLEARED = "cleared"

    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="grade_events")
    kind = models.CharField(max_length=16, choices=Kind.choices, default=Kind.AUTO)
    step_version = models.PositiveSmallIntegerField()
    limits_version = models.PositiveSmallIntegerField(default=0)
    points = models.PositiveSmallIntegerField()
    open_points = models.PositiveSmallIntegerField(default=0)
    checks = models.JSONField()
    evidence_hash = models.CharField(max_length=64)
    regrade = models.ForeignKey(RegradeSet, models.SET_NULL, null=True, blank=True, related_name="events")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    comment = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at", "pk"]

    @property
    def weight(self) -> int:
        """What a grader's event counts against others of the step, the attempt's lateness taken off."""
        return weight(self.points, self.attempt.late_percent)


# What the grader wrote. The newest of these is what an attempt earned; a person's override stands beside it.
AUTOMATIC = (GradeEvent.Kind.AUTO, GradeEvent.Kind.REGRADE)


class Grade(models.Model):
    """What counts for a student's step: the best graded attempt's event, or an instructor's override.

    `automatic` is what would count without the override; None while there is none.
    """

    course = models.ForeignKey(Course, models.CASCADE, related_name="grades")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="grades")
    step = models.SlugField()
    event = models.ForeignKey(GradeEvent, models.RESTRICT)
    automatic = models.ForeignKey(GradeEvent, models.RESTRICT, null=True, blank=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["course", "user", "step"], name="one_grade_a_step")]

    @property
    def is_overridden(self) -> bool:
        return self.event.kind == GradeEvent.Kind.OVERRIDE

    @property
    def graded(self) -> GradeEvent | None:
        """What counts, or would count, by grading alone."""
        return self.automatic if self.is_overridden else self.event
