"""Who may see what of a course. Every page, address and socket asks here; a no always looks like 'not found'."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q

from labs.actions.errors import NotFound
from labs.models import Attempt, Course, Enrolment, Role


def may_see(user: User | AnonymousUser, course: Course) -> Role | None:
    """As what this person stands in the course; staff stand as instructors. None: not at all."""
    if user.is_anonymous or not user.is_active:
        return None
    if user.is_staff:
        return Role.INSTRUCTOR
    role = Enrolment.objects.active().filter(user=user, course=course).values_list("role", flat=True).first()
    return None if role is None else Role(role)


def attempt_for(user: User | AnonymousUser, attempt_id: UUID) -> Attempt:
    """The attempt with its course and owner, for its owner while enrolled, the course's instructors, and staff.

    One query. Raises NotFound, alike for ids that exist and ids that do not.
    """
    attempts = Attempt.objects.select_related("course", "user").filter(pk=attempt_id)
    if user.is_anonymous or not user.is_active:
        raise NotFound(str(attempt_id))
    if not user.is_staff:
        # One filter call, so that both conditions speak of the same enrolment.
        attempts = attempts.filter(
            Q(user=user) | Q(course__enrolments__role=Role.INSTRUCTOR),
            course__enrolments__user=user,
            course__enrolments__left_at=None,
        )
    if (attempt := attempts.first()) is None:
        raise NotFound(str(attempt_id))
    return attempt
