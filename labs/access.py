"""Who may see what of a course. Every page, address and socket asks here; a no always looks like 'not found'.

Who looks at a student's pages as the student sees them stands here as that student, within one course alone.
"""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import OuterRef, Q, QuerySet, Subquery

from labs.actions.errors import NotFound
from labs.models import Attempt, Course, Enrolment, Role, Viewing

_ONLY = "labs_only_course"


def seen_person(viewing: Viewing) -> User:
    """The student of the viewing, as whom pages and sockets are asked. It has no more of their rights than the viewing
    gives: those in its course."""
    person = viewing.whom
    vars(person)[_ONLY] = viewing.course_id
    return person


def only_course(user: User | AnonymousUser) -> int | None:
    """The one course within which this person is looked at; None: it is the person themself."""
    found: int | None = vars(user).get(_ONLY)
    return found


def courses_of(user: User) -> QuerySet[Course]:
    """Where this person takes part now."""
    courses = Course.objects.filter(enrolments__user=user, enrolments__left_at=None)
    only = only_course(user)
    return courses if only is None else courses.filter(pk=only)


def may_see(user: User | AnonymousUser, course: Course) -> Role | None:
    """As what this person stands in the course; staff stand as instructors. None: not at all."""
    if not _may_look(user) or only_course(user) not in (None, course.pk):
        return None
    return Enrolment.objects.roles_of(user, [course]).get(course.pk)


def course_for(user: User | AnonymousUser, slug: str) -> tuple[Course, Role]:
    """The course, and as what this person stands there, as `may_see` has it. One query. Raises NotFound, whatever the
    cause."""
    if not _may_look(user):
        raise NotFound(slug)
    own = Enrolment.objects.active().filter(user=user.pk, course=OuterRef("pk"))
    course = Course.objects.filter(slug=slug).annotate(own_role=Subquery(own.values("role")[:1])).first()
    if course is None or only_course(user) not in (None, course.pk):
        raise NotFound(slug)
    role = Role.INSTRUCTOR if user.is_staff else vars(course)["own_role"]
    if role is None:
        raise NotFound(slug)
    return course, Role(role)


def _may_look(user: User | AnonymousUser) -> bool:
    return user.is_authenticated and user.is_active


def attempt_for(user: User | AnonymousUser, attempt_id: UUID) -> Attempt:
    """The attempt with its course and owner, for its owner while enrolled, the course's instructors, and staff.

    One query. Raises NotFound, alike for ids that exist and ids that do not.
    """
    attempts = Attempt.objects.select_related("course", "user").filter(pk=attempt_id)
    if user.is_anonymous or not user.is_active:
        raise NotFound(str(attempt_id))
    if (only := only_course(user)) is not None:
        attempts = attempts.filter(course=only)
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
