"""A course and who takes part in it."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Course(models.Model):
    """`zone` is an IANA name; `language` is what a newcomer sees first."""

    slug = models.SlugField(unique=True)
    title = models.CharField(max_length=200)
    zone = models.CharField(max_length=64, default="Asia/Seoul")
    language = models.CharField(max_length=8, default="ko")
    attempts_per_step = models.PositiveSmallIntegerField(default=10)
    ends_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.title


class Role(models.TextChoices):
    STUDENT = "student"
    INSTRUCTOR = "instructor"


class Enrolment(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="enrolments")
    course = models.ForeignKey(Course, models.CASCADE, related_name="enrolments")
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.STUDENT)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "course"], name="one_enrolment_a_course")]

    def __str__(self) -> str:
        return f"{self.user} {self.role} {self.course}"
