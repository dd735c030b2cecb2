from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from labs.live.status import statuses
from labs.measure.plan import Ask, Plan
from labs.models import Attempt, Booking, Course, Endpoint, Round, Run, State
from labs.rules.clock import written

NewAttempt = Callable[..., Attempt]
Enrol = Callable[..., User]
GREEN = {name: {"green": True, "reason": None} for name in ("slots", "content", "prefix", "cancel")}


def plan_of(max_tokens: int) -> Plan:
    """Declares 9 ms a token."""
    return Plan(items=(Ask(key="cold", messages=(), max_tokens=max_tokens),))


def add_round(attempt: Attempt, number: int = 1, max_tokens: int = 1000) -> Round:
    return Round.objects.create(
        attempt=attempt,
        number=number,
        key=f"r{number}",
        submit_key=uuid.uuid4(),
        challenge={},
        answers={},
        plan=plan_of(max_tokens).to_json(),
    )


@pytest.fixture
def queue(enrol: Enrol, new_attempt: NewAttempt) -> list[Attempt]:
    """Four in the queue; each declares 9 s."""
    began = timezone.now()
    attempts = [
        new_attempt(enrol(f"student-{number}"), State.QUEUED, queued_at=began + timedelta(seconds=number))
        for number in range(4)
    ]
    for attempt in attempts:
        add_round(attempt)
    return attempts


def test_places_count_from_one_in_the_order_of_queueing(queue: list[Attempt], endpoint: Endpoint) -> None:
    found = statuses([attempt.pk for attempt in queue])
    assert [found[attempt.pk].place for attempt in queue] == [1, 2, 3, 4]
    assert [found[attempt.pk].ahead for attempt in queue] == [0, 1, 2, 3]
    assert [(found[a.pk].wait_low_s, found[a.pk].wait_high_s) for a in queue] == [
        (0, 2),
        (9, 22),
        (18, 42),
        (27, 62),
    ]


def test_before_anything_ran_an_endpoints_known_speed_stretches_the_wait(
    queue: list[Attempt], endpoint: Endpoint
) -> None:
    Endpoint.objects.update(fingerprint="f", canaries_of="f", prompt_ms_per_token=9.0)
    found = statuses([attempt.pk for attempt in queue])
    assert [(found[a.pk].wait_low_s, found[a.pk].wait_high_s) for a in queue[:2]] == [(0, 2), (18, 40)]


def test_one_that_returned_stands_at_the_head_and_says_so(
    queue: list[Attempt], endpoint: Endpoint, enrol: Enrol, new_attempt: NewAttempt
) -> None:
    long_ago = timezone.now() - timedelta(minutes=1)
    back = new_attempt(enrol("back"), State.QUEUED, queued_at=long_ago, returned=True)
    found = statuses([back.pk, queue[0].pk])
    assert (found[back.pk].place, found[back.pk].returned, found[back.pk].back_ahead) == (1, True, False)
    assert (found[queue[0].pk].place, found[queue[0].pk].back_ahead) == (2, True), "who is behind is told why"
    back.delete()
    assert not any(status.back_ahead for status in statuses([one.pk for one in queue]).values())


def test_practice_has_a_line_of_its_own_behind_all_others(
    queue: list[Attempt], endpoint: Endpoint, enrol: Enrol, new_attempt: NewAttempt
) -> None:
    long_ago = timezone.now() - timedelta(minutes=1)
    practice = [
        new_attempt(
            enrol(f"practises-{number}"),
            State.QUEUED,
            queued_at=long_ago + timedelta(seconds=number),
            practice=True,
        )
        for number in range(2)
    ]
    for attempt in practice:
        add_round(attempt)
    found = statuses([attempt.pk for attempt in (*queue, *practice)])
    assert [found[attempt.pk].place for attempt in queue] == [1, 2, 3, 4], "nobody is behind practice"
    assert [found[attempt.pk].place for attempt in practice] == [1, 2]
    assert [(found[a.pk].wait_low_s, found[a.pk].wait_high_s) for a in practice] == [(36, 82), (45, 102)]
    assert [found[attempt.pk].message()["practice"] for attempt in practice] == [True, True]
    Endpoint.objects.update(state=Endpoint.State.DOWN)
    assert statuses([practice[1].pk])[practice[1].pk].place == 2


def test_equal_times_have_one_order_everywhere(
    enrol: Enrol, new_attempt: NewAttempt, endpoint: Endpoint
) -> None:
    now = timezone.now()
    attempts = [new_attempt(enrol(f"s{n}"), State.QUEUED, queued_at=now) for n in range(5)]
    places = {attempt.pk: statuses([attempt.pk])[attempt.pk].place for attempt in attempts}
    assert sorted(places, key=lambda pk: places[pk] or 0) == sorted(places)


def test_what_runs_now_widens_the_range(
    queue: list[Attempt], endpoint: Endpoint, enrol: Enrol, new_attempt: NewAttempt
) -> None:
    add_round(new_attempt(enrol("running"), State.RUNNING))
    status = statuses([queue[0].pk])[queue[0].pk]
    assert (status.place, status.wait_low_s, status.wait_high_s) == (1, 0, 22)


def test_the_newest_round_is_what_will_run(queue: list[Attempt], endpoint: Endpoint) -> None:
    add_round(queue[0], number=2, max_tokens=100)
    status = statuses([queue[1].pk])[queue[1].pk]
    assert (status.wait_low_s, status.wait_high_s) == (0, 6)


@pytest.mark.parametrize("state", [Endpoint.State.DOWN, Endpoint.State.LOADING, Endpoint.State.PAUSED])
def test_without_a_usable_endpoint_nobody_knows_the_wait(
    queue: list[Attempt], endpoint: Endpoint, state: Endpoint.State
) -> None:
    Endpoint.objects.update(state=state)
    status = statuses([queue[2].pk])[queue[2].pk]
    assert (status.place, status.wait_low_s, status.wait_high_s) == (3, None, None)


def test_who_waits_for_a_paused_step_has_no_place_and_is_in_nobodys_way(
    queue: list[Attempt], endpoint: Endpoint
) -> None:
    Endpoint.objects.update(canaries={"slots": {"green": True, "reason": None}})
    Attempt.objects.filter(pk=queue[0].pk).update(step="barge-in")
    Attempt.objects.exclude(pk=queue[0].pk).update(step="server-up")
    found = statuses([attempt.pk for attempt in queue])
    assert [found[attempt.pk].place for attempt in queue] == [None, *range(1, len(queue))]


def test_states_other_than_queued_have_no_place(attempt: Attempt, endpoint: Endpoint) -> None:
    attempt.runs.create(
        round=add_round(attempt), number=2, endpoint=endpoint, token=1, worker="w", started_at=timezone.now()
    )
    Attempt.objects.filter(pk=attempt.pk).update(cancel_requested=True, version=7)
    status = statuses([attempt.pk])[attempt.pk]
    assert status.message() == {
        "kind": "state",
        "state": "running",
        "version": 7,
        "reason": "",
        "place": None,
        "ahead": None,
        "wait_low_s": None,
        "wait_high_s": None,
        "returned": False,
        "back_ahead": False,
        "practice": False,
        "why": "",
        "why_note": "",
        "why_until": "",
        "partner": "",
        "partner_until": "",
        "cancel_requested": True,
        "round": 1,
        "run": 2,
    }
    assert Run.objects.count() == 1


def test_unknown_ids_are_left_out(attempt: Attempt) -> None:
    assert set(statuses([attempt.pk, uuid.uuid4()])) == {attempt.pk}
    assert statuses([]) == {}


def test_the_number_of_queries_does_not_depend_on_the_number_of_ids(
    queue: list[Attempt],
    endpoint: Endpoint,
    attempt: Attempt,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    ids = [attempt.pk, *(queued.pk for queued in queue)]
    with django_assert_num_queries(5):
        statuses(ids)
    with django_assert_num_queries(4):  # plans are frozen: each is read once
        statuses(ids)
    with django_assert_num_queries(4):
        statuses(ids[1:2])
    with django_assert_num_queries(1):
        statuses([attempt.pk])


def test_a_booking_parts_the_queue(
    queue: list[Attempt], endpoint: Endpoint, course: Course, enrol: Enrol, new_attempt: NewAttempt
) -> None:
    """The first server is another class's: two of the queue are of that class, and only they may go there."""
    other = Course.objects.create(slug="evening", title="Evening")
    second = Endpoint.objects.create(name="b", base_url="http://127.0.0.1:2", state=Endpoint.State.UP)
    Endpoint.objects.update(canaries=GREEN)
    Attempt.objects.filter(pk__in=[queue[0].pk, queue[2].pk]).update(course=other)
    now = timezone.now()
    Booking.objects.create(
        endpoint=endpoint,
        course=other,
        starts_at=now - timedelta(hours=1),
        ends_at=now + timedelta(hours=1),
    )

    def places() -> list[tuple[int | None, str]]:
        found = statuses([attempt.pk for attempt in queue])
        return [(found[attempt.pk].place, found[attempt.pk].why) for attempt in queue]

    assert places() == [(1, ""), (2, ""), (3, ""), (4, "")]  # all may go to the second one
    Endpoint.objects.filter(pk=second.pk).update(state=Endpoint.State.DOWN)
    assert places() == [(1, ""), (1, "booked"), (2, ""), (2, "booked")]
    until = statuses([queue[1].pk])[queue[1].pk].why_until
    assert until == written(now + timedelta(hours=1), course.zone)
    Booking.objects.update(starts_at=now + timedelta(minutes=1))
    assert [place for place, _ in places()] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("fields", "why", "note"),
    [
        ({"state": "paused", "pause_note": "The fan is changed."}, "paused", "The fan is changed."),
        ({"state": "down"}, "away", ""),
        ({"state": "resting"}, "away", ""),
        ({"state": "removed"}, "none", ""),
        ({"state": "up", "canaries": {"slots": {"green": False, "reason": None}}}, "step", ""),
    ],
)
def test_who_waits_is_told_why(
    fields: dict[str, Any], why: str, note: str, queue: list[Attempt], endpoint: Endpoint
) -> None:
    Attempt.objects.update(step="barge-in")
    assert {status.why for status in statuses([queue[0].pk]).values()} == {"check"}
    Endpoint.objects.update(**{"canaries": GREEN} | fields)
    status = statuses([queue[0].pk])[queue[0].pk]
    assert (status.why, status.why_note) == (why, note)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="Postgres chooses by how many rows there are")
@pytest.mark.django_db
def test_the_queue_is_found_by_its_state_and_not_among_all_attempts() -> None:
    """It is asked for every two seconds, and by every worker that looks for work."""
    plan = Attempt.objects.in_line().filter(state__in=[State.QUEUED, State.RUNNING]).explain()
    assert "(state=?)" in plan, plan
