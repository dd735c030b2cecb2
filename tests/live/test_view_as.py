"""Sockets of an instructor who looks as a student: what the student's sockets say, and no longer than it holds."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from labs.live.follower import Claim
from labs.live.rights import NOT_FOUND, ended
from labs.models import Attempt, Course, Enrolment, Role, Viewing
from labs.viewing import SESSION_KEY
from tests.live.sockets import Site
from tests.live.test_boards import stand

LogIn = Callable[[User], Client]


def look(client: Client, course: Course, whom: User) -> None:
    assert client.post(reverse("view-as", args=[course.slug]), {"user": whom.pk}).status_code == 302


def test_the_students_sockets_until_it_ends(
    site: Site, attempt: Attempt, owner: User, outsider: User, teacher: User, log_in: LogIn
) -> None:
    """Their attempt, not a classmate's; the board as the class sees it; and all closed when the looking ends."""
    stand(attempt, 900.0)
    board = f"/ws/courses/{attempt.course.slug}/boards/voice/en/"
    own, looking, classmate = log_in(teacher), log_in(teacher), log_in(teacher)
    look(looking, attempt.course, owner)
    look(classmate, attempt.course, outsider)
    assert site.open(classmate, attempt.pk).close_code() == NOT_FOUND
    with site.open(looking, attempt.pk) as run, site.at(looking, board) as seen, site.at(own, board) as staff:
        assert run.next()["kind"] == "state"
        html = seen.until_kind("board")["html"]
        assert "900.0" in html and str(attempt.pk) not in html, "as the class sees it"
        assert str(attempt.pk) in staff.until_kind("board")["html"]
        looking.post(reverse("view-as-end"))
        assert run.close_code() == seen.close_code() == NOT_FOUND
        Attempt.objects.filter(pk=attempt.pk).update(version=9)
    with site.open(looking, attempt.pk) as run:
        assert run.next()["version"] == 9, "as themself again"
    look(looking, attempt.course, owner)
    Viewing.objects.filter(ended_at=None).update(until=timezone.now())
    assert site.open(looking, attempt.pk).close_code() == NOT_FOUND, "from a page of before"


def test_nothing_of_another_course(
    site: Site, attempt: Attempt, owner: User, teacher: User, log_in: LogIn
) -> None:
    other = Course.objects.create(slug="other", title="Other")
    Enrolment.objects.create(user=owner, course=other)
    Attempt.objects.filter(pk=attempt.pk).update(course=other)
    looking = log_in(teacher)
    look(looking, Course.objects.get(slug="voice"), owner)
    assert site.open(looking, attempt.pk).close_code() == NOT_FOUND
    assert site.at(looking, "/ws/courses/other/boards/voice/en/").close_code() == NOT_FOUND


def test_the_right_is_asked_again_in_one_more_query(
    attempt: Attempt,
    owner: User,
    teacher: User,
    log_in: LogIn,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    client = log_in(teacher)
    look(client, attempt.course, owner)
    key, pk = str(client.session.session_key), client.session[SESSION_KEY]
    claim = Claim(teacher.pk, owner.pk, attempt.course_id, key, pk)
    with django_assert_num_queries(4):
        assert ended([claim]) == {}
    assert ended([Claim(teacher.pk, owner.pk, attempt.course_id, key, pk + 1)]) != {}, "another one's number"
    Enrolment.objects.filter(user=teacher, role=Role.INSTRUCTOR).update(left_at=timezone.now())
    assert ended([claim]) == {claim: NOT_FOUND}
