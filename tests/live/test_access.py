from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from labs.access import attempt_for, course_for, may_see
from labs.actions.errors import NotFound
from labs.models import Attempt, Course, Enrolment, Role


def test_owner_instructor_and_staff_see_the_attempt(
    attempt: Attempt, owner: User, teacher: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    staff = User.objects.create_user("staff", is_staff=True)
    for user in (owner, teacher, staff):
        with django_assert_num_queries(1):
            found = attempt_for(user, attempt.pk)
            assert (found.pk, found.course.slug, found.user.username) == (attempt.pk, "voice", "owner")


def test_nobody_else_does_and_an_unknown_id_looks_the_same(
    attempt: Attempt, owner: User, outsider: User
) -> None:
    other_course = Course.objects.create(slug="other", title="Other")
    foreign_teacher = User.objects.create_user("foreign")
    Enrolment.objects.create(user=foreign_teacher, course=other_course, role=Role.INSTRUCTOR)
    # A student here who teaches elsewhere has no more right here.
    both = User.objects.create_user("both")
    Enrolment.objects.create(user=both, course=attempt.course)
    Enrolment.objects.create(user=both, course=other_course, role=Role.INSTRUCTOR)
    for user in (outsider, foreign_teacher, both, AnonymousUser()):
        with pytest.raises(NotFound):
            attempt_for(user, attempt.pk)
    with pytest.raises(NotFound):
        attempt_for(owner, uuid.uuid4())


def test_the_right_ends_with_the_enrolment_and_with_the_account(attempt: Attempt, owner: User) -> None:
    owner.is_active = False
    with pytest.raises(NotFound):
        attempt_for(owner, attempt.pk)
    owner.is_active = True
    Enrolment.objects.filter(user=owner).update(left_at=timezone.now())
    with pytest.raises(NotFound):
        attempt_for(owner, attempt.pk)
    assert may_see(owner, attempt.course) is None
    Enrolment.objects.filter(user=owner).update(left_at=None)
    assert attempt_for(owner, attempt.pk) == attempt
    Enrolment.objects.filter(user=owner).delete()
    with pytest.raises(NotFound):
        attempt_for(owner, attempt.pk)


def test_an_instructor_who_left_finds_nothing(attempt: Attempt, teacher: User) -> None:
    Enrolment.objects.filter(user=teacher).update(left_at=timezone.now())
    with pytest.raises(NotFound):
        attempt_for(teacher, attempt.pk)


def test_as_what_one_stands_in_a_course(course: Course, enrol: Callable[..., User]) -> None:
    gone = enrol("left")
    Enrolment.objects.filter(user=gone).update(left_at=timezone.now())
    expected: list[tuple[User | AnonymousUser, Role | None]] = [
        (enrol("student"), Role.STUDENT),
        (enrol("teacher", Role.INSTRUCTOR), Role.INSTRUCTOR),
        (User.objects.create_user("staff", is_staff=True), Role.INSTRUCTOR),
        (User.objects.create_user("stranger"), None),
        (User.objects.create_user("shut", is_staff=True, is_active=False), None),
        (gone, None),
        (AnonymousUser(), None),
    ]
    for user, role in expected:
        assert may_see(user, course) == role
        if role is not None:
            assert course_for(user, course.slug) == (course, role)
            continue
        with pytest.raises(NotFound):
            course_for(user, course.slug)
    with pytest.raises(NotFound):
        course_for(expected[0][0], "elsewhere")
