"""Who gets in, and who is put out: on a real daphne, with the hub looking twice a second."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from labs.access import may_see
from labs.live.follower import Claim
from labs.live.rights import ended, teaching
from labs.models import Attempt, Course, Enrolment, Role
from tests.live.sockets import Site

LogIn = Callable[[User], Client]


def test_owner_instructor_and_staff_are_let_in(
    site: Site, attempt: Attempt, owner: User, teacher: User, log_in: LogIn
) -> None:
    staff = User.objects.create_user("staff", is_staff=True)
    for user in (owner, teacher, staff):
        with site.open(log_in(user), attempt.pk) as socket:
            assert socket.next()["kind"] == "state"


def test_a_stranger_and_an_unknown_id_get_the_same_answer(
    site: Site, attempt: Attempt, owner: User, outsider: User, log_in: LogIn
) -> None:
    foreign = User.objects.create_user("foreign")
    other = Course.objects.create(slug="other", title="Other")
    Enrolment.objects.create(user=foreign, course=other, role=Role.INSTRUCTOR)
    assert site.open(log_in(outsider), attempt.pk).close_code() == 4404
    assert site.open(log_in(foreign), attempt.pk).close_code() == 4404
    assert site.open(log_in(owner), uuid.uuid4()).close_code() == 4404


def test_nobody_gets_in_without_a_login(site: Site, attempt: Attempt) -> None:
    assert site.open(None, attempt.pk).close_code() == 4401


def log_out(client: Client, user: User) -> None:
    client.logout()


def expire(client: Client, user: User) -> None:
    Session.objects.update(expire_date="2020-01-01T00:00Z")


def deactivate(client: Client, user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


def change_password(client: Client, user: User) -> None:
    user.set_password("another one")
    user.save()


def delete(client: Client, user: User) -> None:
    User.objects.filter(pk=user.pk).delete()


def drop(client: Client, user: User) -> None:
    Enrolment.objects.filter(user=user).delete()


def leave(client: Client, user: User) -> None:
    Enrolment.objects.filter(user=user).update(left_at=timezone.now())


def make_student(client: Client, user: User) -> None:
    Enrolment.objects.filter(user=user).update(role=Role.STUDENT)


@pytest.mark.parametrize(
    ("person", "end", "code"),
    [
        ("owner", log_out, 4401),
        ("owner", expire, 4401),
        ("owner", deactivate, 4401),
        ("owner", change_password, 4401),
        ("teacher", delete, 4401),
        ("owner", drop, 4403),
        ("teacher", drop, 4403),
        ("owner", leave, 4403),
        ("teacher", leave, 4403),
        ("teacher", make_student, 4403),
    ],
)
def test_an_open_socket_is_closed_when_its_right_has_ended(
    site: Site,
    attempt: Attempt,
    owner: User,
    teacher: User,
    log_in: LogIn,
    person: str,
    end: Callable[[Client, User], None],
    code: int,
) -> None:
    leaver, stayer = (owner, teacher) if person == "owner" else (teacher, owner)
    client, other = log_in(leaver), log_in(stayer)
    with site.open(client, attempt.pk) as leaving, site.open(other, attempt.pk) as staying:
        leaving.next()
        staying.next()
        end(client, leaver)
        if end is not expire:  # which ends everybody's session
            Attempt.objects.filter(pk=attempt.pk).update(version=9)
        assert leaving.close_code() == code
        if end is not expire:
            assert staying.next()["version"] == 9


def test_any_number_of_sockets_is_checked_in_three_queries(
    attempt: Attempt,
    owner: User,
    teacher: User,
    log_in: LogIn,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    claims = {
        Claim(user.pk, owner.pk, attempt.course_id, str(log_in(user).session.session_key))
        for user in (owner, teacher)
        for _ in range(5)
    }
    assert len(claims) == 10
    with django_assert_num_queries(3):
        assert ended(claims) == {}
    with django_assert_num_queries(3):
        assert ended(list(claims)[:1]) == {}


def test_who_teaches_is_told_in_two_queries_and_as_pages_have_it(
    course: Course,
    owner: User,
    teacher: User,
    outsider: User,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    others = Course.objects.create(slug="other", title="Other")
    gone = User.objects.create_user("gone")
    Enrolment.objects.create(user=gone, course=course, role=Role.INSTRUCTOR, left_at=timezone.now())
    Enrolment.objects.create(user=owner, course=others, role=Role.INSTRUCTOR)
    staff = User.objects.create_user("staff", is_staff=True)
    idle = User.objects.create_user("idle", is_staff=True, is_active=False)
    people = (owner, teacher, outsider, gone, staff, idle)
    claims = [Claim(user.pk, user.pk, where.pk, "x") for user in people for where in (course, others)]
    with django_assert_num_queries(2):
        found = teaching(claims)
    assert found == {
        (user.pk, where.pk)
        for user in people
        for where in (course, others)
        if may_see(user, where) is Role.INSTRUCTOR
    }
    assert found == {
        (teacher.pk, course.pk),
        (owner.pk, others.pk),
        (staff.pk, course.pk),
        (staff.pk, others.pk),
    }
