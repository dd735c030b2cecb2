"""A board's socket: the whole board at once and after every change, by right only."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from labs.actions.board import call_me, changed, freeze
from labs.models import Attempt, BoardEntry, Course, Enrolment, Role
from tests.live.sockets import Site

LogIn = Callable[[User], Client]


@pytest.fixture
def path(course: Course) -> str:
    return f"/ws/courses/{course.slug}/boards/voice/en/"


def stand(attempt: Attempt, value: float) -> None:
    BoardEntry.objects.update_or_create(
        attempt=attempt,
        board="voice",
        defaults={
            "course": attempt.course,
            "user": attempt.user,
            "comparable": "x/1",
            "value": value,
            "detail": {},
            "is_first": True,
            "counts": True,
        },
    )
    changed(attempt.course_id, "voice")


def test_every_change_comes_and_the_last_state_is_never_missed(
    site: Site, attempt: Attempt, owner: User, path: str, log_in: LogIn
) -> None:
    with site.at(log_in(owner), path) as socket:
        assert "Nobody stands here yet" in socket.until_kind("board")["html"]
        for value in (900.0, 800.0, 700.0):
            stand(attempt, value)
        assert "700.0" in socket.until(lambda message: "700.0" in message["html"])["html"]
        call_me(owner, attempt.course, "Whale", hidden=False)
        assert "Whale" in socket.until(lambda message: "Whale" in message["html"])["html"]


def test_a_frozen_board_says_nothing_of_what_comes(
    site: Site, attempt: Attempt, owner: User, path: str, log_in: LogIn
) -> None:
    stand(attempt, 900.0)
    freeze(attempt.course, "voice")
    stand(attempt, 800.0)
    with site.at(log_in(owner), path) as socket:
        html = socket.until_kind("board")["html"]
        assert "900.0" in html
        assert "800.0" not in html


def test_a_stranger_and_a_board_that_is_none_get_the_same_answer(
    site: Site, course: Course, owner: User, path: str, log_in: LogIn, transactional_db: None
) -> None:
    stranger = User.objects.create_user("stranger")
    wrong = [path.replace("voice", "nothing"), path.replace("/en/", "/xx/")]
    for who, where in ((stranger, path), *((owner, where) for where in wrong)):
        with site.at(log_in(who), where) as socket:
            assert socket.close_code() == 4404
    with site.at(None, path) as socket:
        assert socket.close_code() == 4401


def test_who_leaves_the_course_or_their_role_does_not_look_on(
    site: Site, attempt: Attempt, owner: User, path: str, log_in: LogIn
) -> None:
    with site.at(log_in(owner), path) as socket:
        socket.until_kind("board")
        Enrolment.objects.filter(user=owner).update(role=Role.INSTRUCTOR)
        assert socket.close_code() == 4013
    with site.at(log_in(owner), path) as socket:
        socket.until_kind("board")
        Enrolment.objects.filter(user=owner).delete()
        assert socket.close_code() == 4403


@pytest.mark.parametrize("end", ["deactivated", "expired"])
def test_a_login_that_ended_does_not_look_on(
    site: Site, attempt: Attempt, owner: User, path: str, log_in: LogIn, end: str
) -> None:
    with site.at(log_in(owner), path) as socket:
        socket.until_kind("board")
        if end == "deactivated":
            User.objects.filter(pk=owner.pk).update(is_active=False)
        else:
            Session.objects.update(expire_date="2020-01-01T00:00Z")
        assert socket.close_code() == 4401
