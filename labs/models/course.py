"""A course and who takes part in it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import models
from django.db.models import Q


class Course(models.Model):
    """`zone` is an IANA name; `language` is what a newcomer sees first.

    `practice_s`: machine-seconds of practice for each student; 0: nobody may practise.
    `join_code` lets whoever is logged in become a student until `join_code_ends_at`; empty: there is none.
    From `ends_at` on nothing is taken any more. `erase_after_days` later its students' personal data go; None: as the
    site's setting says. `erased_at`: that has been done.
    """

    slug = models.SlugField(unique=True)
    title = models.CharField(max_length=200)
    zone = models.CharField(max_length=64, default="Asia/Seoul")
    language = models.CharField(max_length=8, default="ko")
    attempts_per_step = models.PositiveSmallIntegerField(default=10)
    practice_s = models.PositiveSmallIntegerField(
        default=300, help_text="Machine-seconds of practice for each student; 0: no practice."
    )
    ends_at = models.DateTimeField(null=True, blank=True)
    erase_after_days = models.PositiveSmallIntegerField(null=True, blank=True)
    erased_at = models.DateTimeField(null=True, editable=False)
    join_code = models.CharField(max_length=20, blank=True, editable=False)
    join_code_ends_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["join_code"], condition=~Q(join_code=""), name="one_course_a_join_code"
            )
        ]

    def __str__(self) -> str:
        return self.title

    def has_ended(self, now: datetime) -> bool:
        """Nothing is taken any more."""
        return self.ends_at is not None and self.ends_at <= now


class Role(models.TextChoices):
    STUDENT = "student"
    INSTRUCTOR = "instructor"


class EnrolmentQuerySet(models.QuerySet["Enrolment"]):
    def active(self) -> EnrolmentQuerySet:
        """Of those who take part now. Whoever left has no right in the course; their work stays."""
        return self.filter(left_at=None)

    def roles_of(self, user: User | AnonymousUser, courses: Iterable[Course]) -> dict[int, Role]:
        """As what this person stands in those of the courses that they take part in, by the course's id; staff stand as
        instructors everywhere. One query, none for staff. Whether they may look at all: labs.access."""
        if user.is_staff:
            return {course.pk: Role.INSTRUCTOR for course in courses}
        rows = self.active().filter(user=user.pk, course__in=list(courses))
        return {course_id: Role(role) for course_id, role in rows.values_list("course_id", "role")}


class Enrolment(models.Model):
    """`number` is the student number as the roster writes it, leading zeros included. `made_account`: the roster that
    brought this student made their account. `erased_at`: the account is a code name that stands for a student whose
    personal data are gone."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="enrolments")
    course = models.ForeignKey(Course, models.CASCADE, related_name="enrolments")
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.STUDENT)
    number = models.CharField(max_length=40, blank=True)
    left_at = models.DateTimeField(null=True, blank=True)
    made_account = models.BooleanField(default=False, editable=False)
    erased_at = models.DateTimeField(null=True, editable=False)

    objects = EnrolmentQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "course"], name="one_enrolment_a_course")]

    def __str__(self) -> str:
        return f"{self.user} {self.role} {self.course}"


class JoinTry(models.Model):
    """One code that a person entered. A few wrong ones in a while, and they have to wait."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["user", "at"])]
