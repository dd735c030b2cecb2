"""Stop: nothing waits for a run after it, none is lost in a race, and what it costs."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

import labs.actions.cancel as cancel_module
import labs.actions.finish as finish_module
from labs.actions.cancel import cancel
from labs.actions.change import stop
from labs.actions.claim import claim_next
from labs.actions.finish import finish, put_back
from labs.models import Attempt, State
from tests.actions.conftest import Submit
from tests.actions.rows import charged, claim, fresh
from tests.actions.toy import drive

pytestmark = pytest.mark.usefixtures("endpoint")


def test_leaving_the_queue_is_free(kim: User, post: Submit) -> None:
    attempt = cancel(post(kim))
    assert attempt.state == State.CANCELLED
    assert charged(kim) == 0
    assert claim_next("w") is None


@pytest.mark.parametrize(("token_seen", "cost"), [(False, 0), (True, 1)])
def test_stop_while_running_is_free_before_the_first_token(
    kim: User, post: Submit, token_seen: bool, cost: int
) -> None:
    attempt = post(kim)
    held = claim()
    assert cancel(attempt).state == State.RUNNING, "only the worker ends it"
    finish(held, drive("cancelled", token_seen=token_seen))
    assert fresh(attempt).state == State.CANCELLED
    assert charged(kim) == cost


@pytest.mark.parametrize(("token_seen", "cost"), [(False, 0), (True, 1)])
@pytest.mark.parametrize("where", ["in the queue", "while running", "while it is put back"])
def test_stop_of_a_repeat_costs_what_the_run_before_showed(
    kim: User, post: Submit, where: str, token_seen: bool, cost: int
) -> None:
    attempt = post(kim)
    finish(claim(), drive("disturbed", reason="slot_disturbed", token_seen=token_seen))
    if where == "in the queue":
        cancel(attempt)
    else:
        held = claim()
        cancel(attempt)
        put_back(held) if where == "while it is put back" else finish(
            held, drive("cancelled", token_seen=False)
        )
    assert fresh(attempt).state == State.CANCELLED
    assert charged(kim) == cost


@pytest.mark.parametrize("put_back_first", [False, True])
def test_stop_after_a_recorded_round_is_counted(kim: User, post: Submit, put_back_first: bool) -> None:
    attempt = post(kim)
    finish(claim(), drive(token_seen=False))  # a round that asks nothing of the model
    if put_back_first:
        post(kim, "two")
        held = claim()
        cancel(attempt)
        put_back(held)
    else:
        cancel(attempt)
    assert fresh(attempt).state == State.CANCELLED
    assert charged(kim) == 1


@pytest.mark.parametrize("end", ["recorded", "put back"])
def test_a_stop_that_comes_while_the_run_ends_is_not_lost(
    kim: User, post: Submit, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker has looked and seen no Stop; the flag is committed before it moves the attempt on."""
    attempt = post(kim)
    held = claim()
    looked = finish_module.attempt_is_cancelled

    def then_stop(found: Attempt) -> bool:
        monkeypatch.setattr(finish_module, "attempt_is_cancelled", looked)
        seen = looked(found)
        Attempt.objects.filter(pk=attempt.pk).update(cancel_requested=True)
        return seen

    monkeypatch.setattr(finish_module, "attempt_is_cancelled", then_stop)
    finish(held, drive() if end == "recorded" else drive("disturbed", reason="slot_disturbed"))
    assert fresh(attempt).state == State.CANCELLED


def test_a_run_that_is_put_back_in_the_middle_of_a_stop_is_stopped(
    kim: User, post: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = post(kim)
    held = claim()

    def meanwhile(found: Attempt, before: State) -> bool:
        monkeypatch.setattr(cancel_module, "stop", stop)
        stopped = stop(found, before)
        put_back(held)
        return stopped

    monkeypatch.setattr(cancel_module, "stop", meanwhile)
    assert cancel(attempt).state == State.CANCELLED


def test_stop_beats_a_finish_that_did_not_see_it(kim: User, post: Submit) -> None:
    attempt = post(kim)
    held = claim()
    cancel(attempt)
    finish(held, drive("recorded"))
    assert fresh(attempt).state == State.CANCELLED


def test_stop_after_the_end_changes_nothing(kim: User, post: Submit) -> None:
    attempt = post(kim)
    finish(claim(), drive("errored", reason="rejected_by_server"))
    before = fresh(attempt).version
    assert cancel(attempt).state == State.ERRORED
    assert fresh(attempt).version == before


def test_stop_while_a_run_is_put_back_does_not_wait_for_another(kim: User, post: Submit) -> None:
    attempt = post(kim)
    held = claim()
    cancel(attempt)
    put_back(held)
    assert fresh(attempt).state == State.CANCELLED
    assert charged(kim) == 0


def test_stop_after_a_grade_leaves_state_grade_and_cost(kim: User, post: Submit) -> None:
    """E3d: what has ended never changes."""
    attempt = post(kim)
    finish(claim(), drive())
    post(kim, "two")
    finish(claim(), drive())
    before = (fresh(attempt).state, fresh(attempt).version, attempt.grade_events.count(), charged(kim))
    assert before[0] == State.GRADED
    assert cancel(attempt).state == State.GRADED
    assert (
        fresh(attempt).state,
        fresh(attempt).version,
        attempt.grade_events.count(),
        charged(kim),
    ) == before
    assert not fresh(attempt).cancel_requested
