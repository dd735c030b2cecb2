"""The stuck console: everything not final, why, and what is done to many at once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from labs.models import Attempt, Course, Endpoint, Lease, Run, State
from tests.views.conftest import client_of
from tests.views.rows import attempt_in

GREEN = {name: {"green": True, "reason": None} for name in ("slots", "content", "prefix", "cancel")}


@pytest.fixture
def at_admin(db: None) -> Client:
    return client_of(User.objects.create_superuser("root"))


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    return Endpoint.objects.create(
        name="lab-1", base_url="http://127.0.0.1:9", state=Endpoint.State.UP, canaries=GREEN
    )


def running(owner: User, course: Course, endpoint: Endpoint, *, beat_s: float) -> Attempt:
    """Its worker was last heard of so many seconds ago."""
    attempt = attempt_in(State.RUNNING, owner, course, rounds=1)
    run = Run.objects.create(
        attempt=attempt,
        round=attempt.rounds.get(),
        number=9,
        endpoint=endpoint,
        token=1,
        worker="host:7",
        started_at=timezone.now(),
    )
    ends_at = timezone.now() + timedelta(seconds=settings.LABHUB_LEASE_S - beat_s)
    Lease.objects.filter(endpoint=endpoint).update(holder="host:7", run=run, token=1, expires_at=ends_at)
    return attempt


def causes(client: Client) -> list[tuple[str, bool]]:
    rows = client.get(reverse("stuck")).context["rows"]
    return [(str(row.cause), row.is_trouble) for row in rows]


@pytest.mark.parametrize(
    ("beat_s", "cause", "is_trouble"),
    [(1, "Runs.", False), (20, "Its worker has missed heartbeats.", True), (40, "Its worker is gone", True)],
)
def test_a_run_by_the_heartbeat_of_its_worker(
    beat_s: float,
    cause: str,
    is_trouble: bool,
    at_admin: Client,
    endpoint: Endpoint,
    owner: User,
    course: Course,
) -> None:
    running(owner, course, endpoint, beat_s=beat_s)
    row = at_admin.get(reverse("stuck")).context["rows"][0]
    assert str(row.cause).startswith(cause) and row.is_trouble is is_trouble
    assert (row.run.worker, row.endpoint, row.beat_s) == ("host:7", endpoint, beat_s)


def test_a_run_that_holds_no_server(
    at_admin: Client, endpoint: Endpoint, owner: User, course: Course
) -> None:
    running(owner, course, endpoint, beat_s=1)
    Lease.objects.update(run=None, holder="", expires_at=None)
    assert causes(at_admin)[0][0].startswith("No server is held for it any more")


@pytest.mark.parametrize(
    ("fields", "since_s", "cause", "is_trouble"),
    [
        ({}, 1, "Is next, as soon as a server is free.", False),
        ({}, 100, "A server is free, and nobody takes it", True),
        ({"state": "paused"}, 1, "An admin has paused the model servers.", True),
        ({"state": "down"}, 1, "No model server answers just now.", True),
        ({"state": "removed"}, 1, "There is no model server.", True),
        ({"canaries": {}}, 1, "The model server is being checked", True),
    ],
)
def test_what_keeps_one_in_the_queue(
    fields: dict[str, object],
    since_s: float,
    cause: str,
    is_trouble: bool,
    at_admin: Client,
    endpoint: Endpoint,
    owner: User,
    course: Course,
) -> None:
    attempt = attempt_in(State.QUEUED, owner, course, rounds=1)
    Endpoint.objects.exclude(pk=endpoint.pk).update(state=Endpoint.State.REMOVED)
    Endpoint.objects.filter(pk=endpoint.pk).update(**fields)
    Attempt.objects.filter(pk=attempt.pk).update(changed_at=timezone.now() - timedelta(seconds=since_s))
    ((said, troubles),) = causes(at_admin)
    assert said.startswith(cause) and troubles is is_trouble


def test_trouble_stands_first_and_open_rounds_last(
    at_admin: Client, endpoint: Endpoint, owner: User, course: Course
) -> None:
    attempt_in(State.OPEN, User.objects.create_user("away"), course, rounds=1)
    back = attempt_in(State.QUEUED, User.objects.create_user("back"), course, rounds=1)
    Attempt.objects.filter(pk=back.pk).update(not_before=timezone.now() + timedelta(seconds=5))
    running(owner, course, endpoint, beat_s=40)
    found = [said.split(",")[0] for said, _ in causes(at_admin)]
    assert [said[:20] for said in found] == [
        "Its worker is gone",
        "Comes back after a f",
        "Waits for the studen",
    ]


def test_many_at_once_and_what_moved_on_is_told(
    at_admin: Client, endpoint: Endpoint, owner: User, course: Course
) -> None:
    first = running(owner, course, endpoint, beat_s=40)
    second = attempt_in(State.QUEUED, User.objects.create_user("second"), course, rounds=1)
    posted = {"do": "give-back", "attempt": [f"{one.pk}:{one.version}" for one in (first, second)]}
    page = at_admin.post(reverse("stuck"), posted, follow=True).content.decode()
    assert "Done for 2 attempts." in page and "Everything has ended." in page
    assert set(Attempt.objects.values_list("state", "charged")) == {(State.ERRORED, False)}
    page = at_admin.post(reverse("stuck"), posted, follow=True).content.decode()
    assert "2 attempts had moved on meanwhile" in page


@pytest.mark.parametrize("do", ["end", "give-back"])
def test_its_student_reads_what_became_of_it(
    do: str, at_admin: Client, at_owner: Client, endpoint: Endpoint, owner: User, course: Course
) -> None:
    attempt = running(owner, course, endpoint, beat_s=40)
    at_admin.post(reverse("stuck"), {"do": do, "attempt": f"{attempt.pk}:{attempt.version}"})
    page = at_owner.get(reverse("attempt", args=[attempt.pk])).content.decode()
    assert "An admin ended it, because it did not come to an end by itself." in page
    assert "taken back by an admin" in page
    assert ("This counts as one attempt." if do == "end" else "No attempt was used.") in page


@pytest.mark.parametrize("posted", [{}, {"do": "else"}, {"do": "end", "attempt": "no"}])
def test_what_no_form_of_ours_sends(posted: dict[str, str], at_admin: Client) -> None:
    assert at_admin.post(reverse("stuck"), posted).status_code == 404


@pytest.mark.parametrize("more", [1, 5])
def test_the_queries_do_not_grow(
    more: int, at_admin: Client, course: Course, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(more):
        attempt_in(State.QUEUED, User.objects.create_user(f"s{number}"), course, rounds=1)
    with django_assert_num_queries(7):
        at_admin.get(reverse("stuck"))
