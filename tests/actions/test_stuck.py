"""What an admin does with attempts that do not end, also when they end in that very moment."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from labs.actions.cancel import cancel
from labs.actions.claim import claim_next
from labs.actions.finish import finish, runs_so_far
from labs.actions.interrupt import interrupt
from labs.actions.stuck import Do, Seen, act, put_back
from labs.models import Attempt, AuditRow, Endpoint, Lease, Reason, Run, State
from tests.actions.conftest import Submit
from tests.actions.rows import charged, claim, fresh
from tests.actions.toy import drive


@pytest.fixture
def admin(db: None) -> User:
    return User.objects.create_superuser("root")


def seen(attempt: Attempt) -> Seen:
    now = fresh(attempt)
    return Seen(now.pk, now.version)


def test_a_run_is_put_back_and_its_late_result_changes_nothing(
    post: Submit, kim: User, lee: User, endpoint: Endpoint, admin: User
) -> None:
    first = post(kim)
    post(lee)
    held = claim()
    assert act(Do.REQUEUE, [seen(first)], admin) == (1, 0)
    back = fresh(first)
    assert (back.state, back.returned, charged(kim)) == (State.QUEUED, True, 1)
    assert Lease.objects.get(endpoint=endpoint).holder == ""
    assert not finish(held, drive())
    assert fresh(first).state == State.QUEUED
    again = claim_next("other")
    assert again is not None and again.attempt == first  # at the head, before lee
    assert runs_so_far(again.round) == 1  # the one taken back does not count
    assert finish(again, drive())


def test_given_back_or_counted(post: Submit, kim: User, lee: User, endpoint: Endpoint, admin: User) -> None:
    runs, waits = post(kim), post(lee)
    claim()
    assert act(Do.GIVE_BACK, [seen(runs), seen(waits)], admin) == (2, 0)
    for attempt, user in ((runs, kim), (waits, lee)):
        now = fresh(attempt)
        assert (now.state, now.reason, now.charged) == (State.ERRORED, Reason.ENDED_BY_ADMIN, False)
        assert charged(user) == 0
    counted = post(kim)
    assert act(Do.END, [seen(counted)], admin) == (1, 0)
    assert (fresh(counted).state, fresh(counted).charged, charged(kim)) == (State.CANCELLED, True, 1)
    assert [(row.what, row.whom) for row in AuditRow.objects.order_by("pk")] == [
        ("give back toy", kim),
        ("give back toy", lee),
        ("end toy", kim),
    ]


def test_what_an_admin_gave_back_is_not_counted_as_a_servers_fault(
    post: Submit, kim: User, endpoint: Endpoint, admin: User
) -> None:
    for _ in range(5):
        act(Do.GIVE_BACK, [seen(post(kim))], admin)
    assert post(kim).state == State.QUEUED


@pytest.mark.parametrize("do", list(Do))
def test_pressed_twice_the_second_does_nothing(
    do: Do, post: Submit, kim: User, endpoint: Endpoint, admin: User
) -> None:
    attempt = post(kim)
    claim()
    as_seen = seen(attempt)
    assert act(do, [as_seen], admin) == (1, 0)
    before = fresh(attempt)
    assert act(do, [as_seen], admin) == (0, 1)
    assert fresh(attempt).version == before.version
    assert AuditRow.objects.count() == 1


@pytest.mark.parametrize("do", list(Do))
def test_a_run_that_has_ended_meanwhile_keeps_its_result(
    do: Do, post: Submit, kim: User, endpoint: Endpoint, admin: User
) -> None:
    """The page still shows it as running."""
    attempt = post(kim)
    held = claim()
    as_seen = seen(attempt)
    assert finish(held, drive())
    assert act(do, [as_seen], admin) == (0, 1)
    assert fresh(attempt).state == State.OPEN  # its second round waits for the student
    assert not AuditRow.objects.exists()


def test_between_our_look_and_our_change_the_guards_decide(
    post: Submit, kim: User, endpoint: Endpoint
) -> None:
    attempt = post(kim)
    held = claim()
    as_found = fresh(attempt)
    assert finish(held, drive())
    assert not interrupt(held.run)
    assert not put_back(as_found)
    assert (fresh(attempt).state, Run.objects.get().outcome) == (State.OPEN, Run.Outcome.RECORDED)


def test_an_open_attempt_cannot_be_queued(post: Submit, kim: User, endpoint: Endpoint, admin: User) -> None:
    attempt = post(kim)
    finish(claim(), drive())
    assert act(Do.REQUEUE, [seen(attempt)], admin) == (0, 1)
    assert act(Do.END, [seen(attempt)], admin) == (1, 0)
    assert fresh(attempt).state == State.CANCELLED


def test_one_that_its_student_has_stopped_ends_instead_of_coming_back(
    post: Submit, kim: User, endpoint: Endpoint, admin: User
) -> None:
    attempt = post(kim)
    claim()
    cancel(attempt)
    assert act(Do.REQUEUE, [seen(attempt)], admin) == (1, 0)
    assert fresh(attempt).state == State.CANCELLED


def test_one_that_waits_out_its_pause_comes_at_once(
    post: Submit, kim: User, endpoint: Endpoint, admin: User
) -> None:
    attempt = post(kim)
    Attempt.objects.update(not_before=timezone.now() + timedelta(hours=1))
    assert claim_next("w") is None
    assert act(Do.REQUEUE, [seen(attempt)], admin) == (1, 0)
    assert claim_next("w") is not None
