"""Boards: whose entry counts, how it ranks, who reads which name, and what frozen means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from labs.actions.board import call_me, changed, enter, freeze, let_go_on
from labs.actions.errors import Refused
from labs.actions.finish import finish
from labs.boards import BOARDS, Audience, board_for, counting_entries
from labs.measure.recording import RunRecord, ServerFacts
from labs.models import Attempt, BoardEntry, BoardState, Course, Endpoint, Enrolment, Grade, Role, State
from labs.steps.base import Score, Seen
from tests.actions.conftest import Submit
from tests.actions.rows import claim
from tests.actions.toy import ToyStep, drive

SERVER = ServerFacts(build="b1", model="small.gguf", n_ctx=4096, slots=2)


def student(course: Course, name: str) -> User:
    user = User.objects.create_user(name, first_name=name.title())
    Enrolment.objects.create(user=user, course=course)
    return user


def scored(
    course: Course,
    user: User,
    board: str,
    value: float,
    *,
    seed_number: int = 0,
    server: ServerFacts = SERVER,
) -> Attempt:
    attempt = Attempt.objects.create(
        course=course,
        user=user,
        step="toy",
        step_version=1,
        seed_number=seed_number,
        state=State.GRADED,
        changed_at=timezone.now(),
    )
    enter(attempt, [Score(board, value, {"said_ms": 1}, RunRecord({}, server))])
    return attempt


def stands(course: Course, board: str, audience: Audience = "staff") -> list[tuple[int | None, str, float]]:
    rows = board_for(course, board, audience).rows
    return [(row.place.rank, row.user.first_name if row.user else row.who, row.place.value) for row in rows]


@pytest.fixture
def people(course: Course) -> list[User]:
    return [student(course, name) for name in ("ann", "bob", "cat", "dan")]


def test_ties_share_a_rank_by_what_is_shown(course: Course, people: list[User]) -> None:
    for user, value in zip(people, (3.0, 2.04, 1.0, 1.96), strict=True):
        scored(course, user, "predictor", value)
    assert stands(course, "predictor") == [(1, "Cat", 1.0), (2, "Bob", 2.0), (2, "Dan", 2.0), (4, "Ann", 3.0)]


def test_the_first_attempt_predicts_the_best_voice_counts_and_the_newest_time_is_shown(
    course: Course, people: list[User]
) -> None:
    ann = people[0]
    for board in BOARDS:
        for number, value in enumerate((5.0, 2.0, 4.0)):
            scored(course, ann, board, value, seed_number=number)
    assert stands(course, "predictor") == [(1, "Ann", 5.0)]
    assert stands(course, "voice") == [(1, "Ann", 2.0)]
    assert stands(course, "ttft") == [(None, "Ann", 4.0)]


def test_one_entry_counts_however_often_a_student_tries(
    course: Course, people: list[User], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for board in BOARDS:
        attempts = [
            scored(course, people[0], board, value, seed_number=n) for n, value in enumerate((5.0, 2.0, 4.0))
        ]
        enter(attempts[1], [Score(board, 9.0, {}, RunRecord({}, SERVER))])
    counting = BoardEntry.objects.filter(counts=True)
    assert dict(counting.values_list("board", "value")) == {"ttft": 4.0, "predictor": 5.0, "voice": 4.0}, (
        "an entry that became worse gives its place to the next best"
    )
    assert len(counting) == len(BOARDS)
    # State, who takes part, entries, and names; the class's held steps or the staff's users.
    with django_assert_num_queries(5):
        board_for(course, "voice", "class")
    with django_assert_num_queries(5):
        board_for(course, "voice", "staff")


@pytest.mark.skipif(connection.vendor != "sqlite", reason="Postgres chooses by how many rows there are")
def test_a_board_is_read_by_the_index_of_what_counts(course: Course) -> None:
    """And not by that of the course, in which every attempt has its row."""
    assert "one_entry_counts" in counting_entries(course.pk, "voice").explain()


def test_another_server_begins_a_new_class_when_most_are_there(course: Course, people: list[User]) -> None:
    new = replace(SERVER, build="b2")
    scored(course, people[0], "voice", 5.0)
    scored(course, people[1], "voice", 6.0, server=new)
    assert stands(course, "voice") == [(1, "Bob", 6.0)], "the newer of two alike"
    assert board_for(course, "voice", "class").standing.older == 1
    scored(course, people[2], "voice", 7.0)
    scored(course, people[1], "voice", 4.0, server=new, seed_number=1)
    assert stands(course, "voice") == [(1, "Ann", 5.0), (2, "Cat", 7.0)], "it does not flip with each attempt"


def test_a_value_that_is_no_number_costs_no_grade(course: Course, people: list[User]) -> None:
    scored(course, people[0], "voice", float("nan"))
    scored(course, people[1], "voice", 2.0)
    assert (1, "Bob", 2.0) in stands(course, "voice")


def test_an_instructor_and_a_closed_account_take_no_rank(course: Course, people: list[User]) -> None:
    for user, value in zip(people, (1.0, 2.0, 3.0, 4.0), strict=True):
        scored(course, user, "voice", value)
    Enrolment.objects.filter(user=people[0]).update(role=Role.INSTRUCTOR)
    User.objects.filter(pk=people[1].pk).update(is_active=False)
    assert stands(course, "voice") == [(1, "Cat", 3.0), (2, "Dan", 4.0)]


def test_the_class_reads_code_names_and_chosen_ones_and_never_a_link(
    course: Course, people: list[User]
) -> None:
    for user, value in zip(people, (1.0, 2.0, 3.0, 4.0), strict=True):
        scored(course, user, "voice", value)
    call_me(people[1], course, "  Blue   Whale ", hidden=False)
    call_me(people[2], course, "", hidden=True)
    rows = board_for(course, "voice", "class").rows
    assert [row.place.rank for row in rows] == [1, 2, 4], "who hides still holds a rank"
    assert rows[1].who == "Blue Whale"
    assert not {"Ann", "Dan", "ann", "dan"} & {row.who for row in rows}
    assert all(row.attempt == "" for row in rows)
    staff = board_for(course, "voice", "staff").rows
    assert (staff[2].user, staff[2].is_hidden) == (people[2], True)
    assert all(row.user is None for row in rows)


def test_a_name_is_one_students(course: Course, people: list[User]) -> None:
    call_me(people[0], course, "Whale", hidden=False)
    with pytest.raises(Refused):
        call_me(people[1], course, "Whale", hidden=False)
    call_me(people[2], course, "", hidden=False)
    call_me(people[3], course, "", hidden=False)


def test_frozen_is_frozen_for_the_class_and_names_go_on(course: Course, people: list[User]) -> None:
    scored(course, people[0], "voice", 5.0)
    freeze(course, "voice")
    scored(course, people[1], "voice", 1.0)
    assert len(stands(course, "voice", "class")) == 1
    assert stands(course, "voice")[0] == (1, "Bob", 1.0)
    assert board_for(course, "voice", "class").frozen_at is not None
    call_me(people[0], course, "Whale", hidden=False)
    assert [who for _, who, _ in stands(course, "voice", "class")] == ["Whale"]
    call_me(people[0], course, "Whale", hidden=True)
    assert stands(course, "voice", "class") == []
    first = BoardState.objects.get(board="voice").frozen_at
    freeze(course, "voice")
    assert BoardState.objects.get(board="voice").frozen_at == first, "a second freeze changes nothing"
    let_go_on(course, "voice")
    assert len(stands(course, "voice", "class")) == 1


def test_the_previous_best_stands_while_a_new_attempt_runs_and_a_worse_one_ends(
    course: Course, people: list[User]
) -> None:
    scored(course, people[0], "voice", 5.0)
    again = Attempt.objects.create(
        course=course,
        user=people[0],
        step="toy",
        step_version=1,
        seed_number=1,
        state=State.RUNNING,
        changed_at=timezone.now(),
    )
    assert stands(course, "voice") == [(1, "Ann", 5.0)]
    enter(again, [Score("voice", 7.0, {}, RunRecord({}, SERVER))])
    assert stands(course, "voice") == [(1, "Ann", 5.0)]


def test_a_frozen_board_shows_no_regrade(course: Course, people: list[User]) -> None:
    """A regrade gives points and enters nothing; what did change shows once the board goes on."""
    attempt = scored(course, people[0], "voice", 5.0)
    freeze(course, "voice")
    enter(attempt, [Score("voice", 3.0, {}, RunRecord({}, SERVER))])
    assert [value for _, _, value in stands(course, "voice", "class")] == [5.0]
    let_go_on(course, "voice")
    assert [value for _, _, value in stands(course, "voice", "class")] == [3.0]


def test_who_left_stands_nowhere(course: Course, people: list[User]) -> None:
    scored(course, people[0], "voice", 5.0)
    Enrolment.objects.filter(user=people[0]).update(left_at=timezone.now())
    assert stands(course, "voice") == []


def test_everything_that_changes_a_board_moves_its_version(course: Course, people: list[User]) -> None:
    def version() -> int:
        return (
            BoardState.objects.filter(course=course, board="voice").values_list("version", flat=True).first()
            or 0
        )

    seen = [version()]
    for change in (
        lambda: scored(course, people[0], "voice", 5.0),
        lambda: call_me(people[0], course, "Whale", hidden=False),
        lambda: freeze(course, "voice"),
        lambda: let_go_on(course, "voice"),
        lambda: changed(course.pk, "voice"),
    ):
        change()
        seen.append(version())
    assert seen == sorted(set(seen))


def test_twelve_students_with_five_ties_stand_once_each_and_always_alike(course: Course) -> None:
    """F3: seven are faster; five are equal as shown, one by the noise of a float; two had other attempts."""
    values = [101.0 + n for n in range(7)] + [250.0, 250.00001, 249.96, 250.04, 250.0]
    students = [student(course, f"s{n:02}") for n in range(12)]
    for user, value in zip(students, values, strict=True):
        scored(course, user, "voice", value)
    scored(course, students[0], "voice", 900.0, seed_number=1)
    scored(course, students[11], "voice", 251.0, seed_number=1)
    seen = stands(course, "voice")
    assert [rank for rank, _, _ in seen] == [1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8]
    assert sorted(name for _, name, _ in seen) == [f"S{n:02}" for n in range(12)], (
        "nobody twice, nobody missing"
    )
    assert {round(value, 1) for _, _, value in seen[7:]} == {250.0}, "what is shown is what ranks"
    assert [stands(course, "voice") for _ in range(3)] == [seen] * 3
    of_class = board_for(course, "voice", "class").rows
    assert [row.place.rank for row in of_class] == [rank for rank, _, _ in seen]


@pytest.mark.parametrize(("breaks", "entered"), [(False, [(5.0, True)]), (True, [])])
def test_grading_enters_a_whole_attempt_and_a_crash_of_its_scores_costs_no_grade(
    breaks: bool,
    entered: list[tuple[float, bool]],
    endpoint: Endpoint,
    kim: User,
    post: Submit,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def scores(self: ToyStep, seen: Seen) -> Iterator[Score]:
        if breaks:
            raise RuntimeError("the scores are broken")
        yield Score("voice", 5.0, {"prompt_n": 3}, seen.run_of("two"))

    monkeypatch.setattr(ToyStep, "scores", scores)
    post(kim, "one")
    assert finish(claim(), drive())
    assert not BoardEntry.objects.exists(), "half an attempt has no score"
    post(kim, "two")
    assert finish(claim(), drive())
    assert Grade.objects.get(user=kim).event.points == 10
    assert list(BoardEntry.objects.values_list("value", "is_first")) == entered
