"""The boards' pages: who may read what, in which language, and how many questions they ask."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from labs.actions.board import changed, enter
from labs.boards import BOARDS, code_name
from labs.live.boards import View, _message, draw_with
from labs.measure.recording import RunRecord, ServerFacts
from labs.models import Attempt, BoardEntry, BoardName, Course, Enrolment, State
from labs.steps.base import Score
from labs.views.boards import draw
from tests.views.rows import attempt_in

PAGE = 11  # session, user, notices, course and right; own name, state, who takes part, entries, names; staff: users


@pytest.fixture
def entry(owner: User, course: Course) -> BoardEntry:
    attempt = attempt_in(State.GRADED, owner, course, step_key="voice-turn")
    return stand(attempt)


def stand(attempt: Attempt, board: str = "voice", value: float = 900.0) -> BoardEntry:
    return BoardEntry.objects.create(
        course=attempt.course,
        user=attempt.user,
        attempt=attempt,
        board=board,
        comparable="x/1",
        value=value,
        detail={"prompt_n": 100, "sentence_tokens": 50, "opened_ms": 812.5},
        is_first=True,
        counts=True,
    )


def url(course: Course, name: str = "board", board: str = "voice") -> str:
    return reverse(name, args=[course.slug, board])


@pytest.mark.parametrize("name", ["board", "board-fragment"])
def test_the_class_and_its_instructor_see_it_and_nobody_else(
    name: str, entry: BoardEntry, course: Course, at_owner: Client, at_member: Client, at_outsider: Client
) -> None:
    assert at_outsider.get(url(course, name)).status_code == 404
    assert at_owner.get(url(course, name, "nothing")).status_code == 404
    for_class = at_owner.get(url(course, name)).content.decode()
    for_staff = at_member.get(url(course, name)).content.decode()
    link = reverse("attempt", args=[entry.attempt_id])
    assert code_name(course.pk, entry.user_id) in for_class
    assert link not in for_class
    assert f">{entry.user.username}<" not in for_class.partition('data-swap="board"')[2]
    assert link in for_staff
    assert entry.user.username in for_staff


@pytest.mark.parametrize("name", ["board-freeze", "board-projector"])
def test_what_is_for_instructors_only(
    name: str, entry: BoardEntry, course: Course, at_owner: Client, at_outsider: Client
) -> None:
    for client in (at_owner, at_outsider):
        answer = client.post(url(course, name)) if name == "board-freeze" else client.get(url(course, name))
        assert answer.status_code == 404


def test_freezing_and_going_on(
    entry: BoardEntry, course: Course, at_owner: Client, at_member: Client
) -> None:
    assert at_member.post(url(course, "board-freeze")).status_code == 302
    entry.delete()
    assert code_name(course.pk, entry.user_id) in at_owner.get(url(course)).content.decode()
    at_member.post(url(course, "board-freeze"), {"go_on": "1"})
    assert (
        code_name(course.pk, entry.user_id)
        not in at_owner.get(url(course, "board-fragment")).content.decode()
    )


def test_a_name_of_ones_own_is_text(entry: BoardEntry, course: Course, at_owner: Client) -> None:
    at_owner.post(reverse("board-name", args=[course.slug]), {"name": "<b>고래</b>", "board": "voice"})
    page = at_owner.get(url(course)).content.decode()
    assert "&lt;b&gt;고래&lt;/b&gt;" in page
    assert BoardName.objects.get().name == "<b>고래</b>"


def test_an_outsider_takes_no_name(course: Course, at_outsider: Client) -> None:
    assert at_outsider.post(reverse("board-name", args=[course.slug]), {"name": "x"}).status_code == 404
    assert not BoardName.objects.exists()


def test_the_projector_shows_no_names(entry: BoardEntry, course: Course, at_member: Client) -> None:
    changed(course.pk, "voice")
    page = at_member.get(url(course, "board-projector")).content.decode().partition("<main")[2]
    assert 'data-board-reload="1"' in page, "a change before its socket came is seen by it"
    assert "1. 900.0 ms" in page
    assert entry.user.username not in page
    assert code_name(course.pk, entry.user_id) not in page


@pytest.mark.parametrize("board", list(BOARDS))
def test_in_korean(board: str, entry: BoardEntry, course: Course, at_owner: Client) -> None:
    page = at_owner.get(url(course, board=board), headers={"accept-language": "ko"}).content.decode()
    assert "바꿀 수 있는 것" in page


@pytest.mark.parametrize("more", [1, 6])
def test_queries_do_not_grow(
    more: int, course: Course, at_member: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(more):
        user = User.objects.create_user(f"s{number}")
        Enrolment.objects.create(user=user, course=course)
        stand(attempt_in(State.GRADED, user, course, step_key="voice-turn"), value=900.0 + number)
    with django_assert_num_queries(PAGE):
        at_member.get(url(course))


@pytest.mark.parametrize("more", [1, 6])
def test_what_sockets_are_pushed_asks_no_more_with_every_attempt(
    more: int, owner: User, course: Course, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    draw_with(draw)
    server = RunRecord({}, ServerFacts(build="b"))
    for number in range(more):
        attempt = attempt_in(State.GRADED, owner, course, step_key="voice-turn")
        enter(attempt, [Score("voice", 900.0 - number, {}, server)])
    # Version and course; state, who takes part, entries, what is held, names.
    with django_assert_num_queries(7):
        found = _message(View(course.pk, "voice", "class", "en"))
    assert found is not None
    assert f"{901.0 - more}".encode() in found[1].payload


def test_a_graded_attempt_stands_on_the_board(owner: User, course: Course) -> None:
    """From the steps' own recordings: what the step scores is what the board gets."""
    from labs.steps import all_steps

    found = {
        score.board
        for step in all_steps().values()
        for example in step.examples()
        if example.kind == "pass"
        for score in step.scores(example.seen())
    }
    assert found == set(BOARDS)
