"""A finished run that an instructor shows to the whole class, without a name."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from labs.models.attempt import Run
from labs.models.course import Course


class DemoRun(models.Model):
    """Shown at its step's page until it is withdrawn; of a step one at a time. `note`: what to look at."""

    course = models.ForeignKey(Course, models.CASCADE, related_name="demo_runs")
    step = models.SlugField()
    run = models.ForeignKey(Run, models.CASCADE, related_name="demos")
    note = models.CharField(max_length=200, blank=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    shown_at = models.DateTimeField(auto_now_add=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["course", "step"], condition=Q(withdrawn_at=None), name="one_demo_run_a_step"
            )
        ]
