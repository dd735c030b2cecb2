"""The instructor's page of what needs a look now."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries

from labs.models import Course, Endpoint, GradeEvent, State
from labs.text import N_
from tests.views.rows import attempt_in


def where(course: Course) -> str:
    return reverse("class-now", args=[course.slug])


def test_only_for_the_courses_instructors(
    course: Course, at_owner: Client, at_outsider: Client, at_member: Client
) -> None:
    assert at_owner.get(where(course)).status_code == 404
    assert at_outsider.get(where(course)).status_code == 404
    assert at_member.get(where(course)).status_code == 200
    other = Course.objects.create(slug="third", title="Third")
    assert at_member.get(where(other)).status_code == 404


def test_a_red_canary_says_what_and_which_steps(course: Course, at_member: Client) -> None:
    why = N_("The server ended its answer without a word.").to_json()
    Endpoint.objects.create(
        name="here",
        base_url="http://127.0.0.1:1",
        state=Endpoint.State.UP,
        canaries={
            "slots": {"green": True, "reason": None},
            "prefix": {"green": False, "reason": why},
        },
    )
    page = at_member.get(where(course), headers={"accept-language": "en"}).content.decode()
    assert "the prefix cache works as taught</strong>: The server ended its answer without a word." in page
    for title in ("Prefix", "cache"):
        assert title.lower() in page.lower()


@pytest.mark.parametrize(("state", "says"), [("resting", "연속"), ("quarantined", "")])
def test_why_a_server_is_kept_away_is_said_in_the_readers_language(
    state: str, says: str, course: Course, at_member: Client
) -> None:
    """What is stored is for the log and the admin."""
    detail = "in a row: another model, build or size than its pool has"
    Endpoint.objects.create(
        name="here", base_url="http://127.0.0.1:1", state=state, detail=detail, failures=3
    )
    page = at_member.get(where(course), headers={"accept-language": "ko"}).content.decode()
    assert says in page and "in a row" not in page and "another model" not in page


def test_who_waits_who_met_a_fault_and_whose_points_are_open(
    course: Course, owner: User, at_member: Client
) -> None:
    attempt_in(State.QUEUED, owner, course, rounds=1)
    attempt_in(
        State.ERRORED,
        owner,
        course,
        rounds=1,
        step_key="prefill",
        reason="idle_timeout",
        finished_at=timezone.now(),
    )
    open_one = attempt_in(State.GRADED, owner, course, step_key="cache-reuse", kind="inconclusive")
    assert GradeEvent.objects.get(attempt=open_one).open_points > 0
    answer = at_member.get(where(course), headers={"accept-language": "en"})
    assert [line.status.place for line in answer.context["live"]] == [1]
    assert [str(line.why) for line in answer.context["faults"]] == [
        "The model server fell silent in the middle of an answer."
    ]
    assert [line.attempt for line in answer.context["open"]] == [open_one]


def test_times_that_stayed_too_noisy_come_to_the_instructor_in_the_end(
    course: Course, owner: User, at_member: Client
) -> None:
    noisy = attempt_in(State.GRADED, owner, course, step_key="prefill", kind="inconclusive")
    (line,) = at_member.get(where(course)).context["open"]
    assert (line.attempt, line.open_points) == (noisy, 4)


@pytest.mark.parametrize("more", [1, 5])
def test_the_queries_do_not_grow(
    more: int, course: Course, at_member: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(more):
        user = User.objects.create_user(f"s{number}")
        attempt_in(State.QUEUED, user, course, rounds=1)
        attempt_in(State.ERRORED, user, course, rounds=1, step_key="prefill", finished_at=timezone.now())
    with django_assert_num_queries(13):
        at_member.get(where(course))
