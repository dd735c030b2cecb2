from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from labs.access import attempt_for, may_see
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
    assert may_see(enrol("student"), course) == Role.STUDENT
    assert may_see(enrol("teacher", Role.INSTRUCTOR), course) == Role.INSTRUCTOR
    assert may_see(User.objects.create_user("staff", is_staff=True), course) == Role.INSTRUCTOR
    assert may_see(User.objects.create_user("stranger"), course) is None
    assert may_see(User.objects.create_user("gone", is_staff=True, is_active=False), course) is None
    assert may_see(AnonymousUser(), course) is None
