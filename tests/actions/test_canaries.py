"""Where a step may run, when a server is tried, and what becomes of one that keeps failing."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from labs.actions import breaker, canaries
from labs.actions.canaries import claim_canaries, due, want_after_doubts
from labs.actions.claim import claim_next
from labs.actions.finish import endpoint_is, finish
from labs.actions.pauses import paused_everywhere
from labs.actions.sweep import end_paused, sweep_once
from labs.measure.control import Control
from labs.models import Attempt, CanaryRun, Endpoint, Lease, Pool, Run
from labs.text import N_
from tests.actions.conftest import Submit
from tests.actions.toy import ToyStep, drive

GREEN = {"green": True, "reason": None}
RED = {"green": False, "reason": N_("It keeps old prompts.").to_json()}


def change(endpoint: Endpoint, **fields: Any) -> None:
    Endpoint.objects.filter(pk=endpoint.pk).update(**fields)


def ago(seconds: float) -> Any:
    return timezone.now() - timedelta(seconds=seconds)


@pytest.fixture
def picky(toy_step: ToyStep, monkeypatch: pytest.MonkeyPatch) -> ToyStep:
    monkeypatch.setattr(ToyStep, "needs", frozenset({"prefix"}))
    return toy_step


def test_a_step_runs_only_where_its_canaries_are_green(
    picky: ToyStep, post: Submit, kim: User, endpoint: Endpoint
) -> None:
    other = Endpoint.objects.create(name="b", base_url="http://127.0.0.1:2", state=Endpoint.State.UP)
    post(kim)
    assert claim_next("w") is None  # not tried yet: it waits
    change(endpoint, canaries={"prefix": RED})
    assert claim_next("w") is None
    change(other, canaries={"prefix": GREEN})
    claim = claim_next("w")
    assert claim is not None
    assert claim.endpoint == other


def test_who_waits_behind_a_paused_step_is_not_held_up(
    picky: ToyStep, post: Submit, kim: User, lee: User, endpoint: Endpoint, course: Any
) -> None:
    post(kim)
    behind = post(lee)
    behind.step = "elsewhere"
    behind.save()
    claim = claim_next("w")
    assert claim is not None
    assert claim.attempt == behind


@pytest.mark.parametrize(
    ("fields", "is_due"),
    [
        ({}, False),
        ({"fingerprint": "new"}, True),
        ({"canaries_wanted": True}, True),
        ({"canaries_wanted": True, "canaries_tried_at": -1}, False),
        ({"canaries_wanted": True, "state": "down"}, False),
        ({"fingerprint": "new", "state": "paused"}, False),
        ({"canaries_wanted": True, "state": "paused"}, True),  # an admin asked for it since
        ({"canaries_at": -3700}, True),
        ({"canaries_at": -3500}, False),
        ({"canaries_at": -400, "has_red_canary": True}, True),
        ({"canaries_at": -200, "has_red_canary": True}, False),
        ({"state": "resting", "rest_until": -1}, True),
        ({"state": "resting", "rest_until": 3600}, False),
    ],
)
def test_when_a_server_is_tried(endpoint: Endpoint, fields: dict[str, Any], is_due: bool) -> None:
    """Seconds from now, because pytest reads the cases long before it runs them."""
    at = {
        name: ago(-value) if isinstance(value, int) and not isinstance(value, bool) else value
        for name, value in fields.items()
    }
    change(endpoint, **at)
    assert due().exists() is is_due


def test_the_hourly_round_waits_while_students_wait(post: Submit, kim: User, endpoint: Endpoint) -> None:
    change(endpoint, canaries_at=ago(3700))
    post(kim)
    assert not due().exists()


def test_a_server_is_tried_by_one_worker_and_by_nobody_meanwhile(
    post: Submit, kim: User, endpoint: Endpoint
) -> None:
    change(endpoint, canaries_wanted=True)
    assert claim_canaries("w") is not None
    assert claim_canaries("other") is None
    post(kim)
    assert claim_next("other") is None


def test_what_comes_after_the_lease_was_lost_is_ignored(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(endpoint, canaries_wanted=True)
    held = claim_canaries("w")
    assert held is not None
    Lease.objects.update(token=held.token + 1)
    monkeypatch.setattr(canaries._Round, "run", lambda self: {"prefix": GREEN})
    canaries.run_canaries(held, None, Control())  # type: ignore[arg-type]
    endpoint.refresh_from_db()
    assert endpoint.canaries == {}
    assert not CanaryRun.objects.exists()


def test_a_busy_server_keeps_its_colours_and_gives_the_lease_back(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(endpoint, canaries_wanted=True, canaries={"prefix": GREEN})

    def busy(self: Any) -> Any:
        raise canaries.Unanswered("the server's slots did not fall idle")

    monkeypatch.setattr(canaries._Round, "run", busy)
    held = claim_canaries("w")
    assert held is not None
    canaries.run_canaries(held, None, Control())  # type: ignore[arg-type]
    endpoint.refresh_from_db()
    assert (endpoint.canaries, endpoint.failures) == ({"prefix": GREEN}, 1)
    assert endpoint.lease.holder == ""
    assert "idle" in CanaryRun.objects.get().detail
    assert not due().exists()  # not again at once


def test_two_runs_in_a_row_that_prove_nothing_call_for_canaries_once(
    post: Submit, kim: User, endpoint: Endpoint
) -> None:
    post(kim)
    claim = claim_next("w")
    assert claim is not None

    def run(number: int, outcome: str, at: Any, copy_of: Run | None = None) -> Run:
        return Run.objects.create(
            attempt=claim.attempt,
            round=claim.round,
            number=number,
            endpoint=endpoint,
            token=1,
            worker="w",
            outcome=outcome,
            started_at=at,
            copy_of=copy_of,
        )

    def wanted() -> bool:
        want_after_doubts(endpoint)
        endpoint.refresh_from_db()
        return endpoint.canaries_wanted

    shared = run(11, "inconclusive", ago(90))
    assert not wanted()
    run(10, "inconclusive", ago(90), copy_of=shared)  # a partner's: the same run
    assert not wanted()
    run(12, "recorded", ago(80))
    run(13, "disturbed", ago(70))
    run(14, "not_idle", ago(65))  # says nothing either way
    assert not wanted()
    run(15, "inconclusive", ago(60))
    change(endpoint, canaries_at=ago(30))  # tried since the pair began
    assert not wanted()
    change(endpoint, canaries_at=ago(100))
    assert wanted()


def test_the_breaker_opens_after_three_failures_rests_longer_each_time_and_alerts_once(
    endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    breaker.failed(endpoint, "no token")
    breaker.failed(endpoint, "no token")
    breaker.succeeded(endpoint)
    for _ in range(2):
        breaker.failed(endpoint, "no token")
    endpoint.refresh_from_db()
    assert endpoint.state == "up"
    rests = []
    for _ in range(8):
        breaker.failed(endpoint, "no token")
        endpoint.refresh_from_db()
        assert endpoint.rest_until is not None
        rests.append(round((endpoint.rest_until - timezone.now()).total_seconds(), -1))
    assert endpoint.state == "resting"
    assert rests == [10, 20, 40, 80, 160, 300, 300, 300]
    assert len(caplog.records) == 1


def test_a_probe_does_not_end_a_rest_and_a_canary_does(endpoint: Endpoint, post: Submit, kim: User) -> None:
    for _ in range(3):
        breaker.failed(endpoint, "no token")
    endpoint_is(endpoint, Endpoint.State.UP, "")
    post(kim)
    assert claim_next("w") is None
    breaker.close(endpoint)
    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.failures) == ("up", 0)
    assert claim_next("w") is not None


def test_the_newest_rounds_are_kept(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Endpoint.objects.create(name="b", base_url="http://127.0.0.1:2")
    monkeypatch.setattr(canaries, "ROUNDS_KEPT", 3)
    monkeypatch.setattr(canaries._Round, "run", lambda self: {"prefix": GREEN})
    for number in range(5):
        CanaryRun.objects.create(endpoint=endpoint, detail=f"{number}")
        CanaryRun.objects.create(endpoint=other)
    change(endpoint, canaries_wanted=True)
    held = claim_canaries("w")
    assert held is not None
    canaries.run_canaries(held, None, Control())  # type: ignore[arg-type]
    kept = CanaryRun.objects.filter(endpoint=endpoint).order_by("pk").values_list("detail", flat=True)
    assert list(kept) == ["3", "4", ""]
    assert CanaryRun.objects.filter(endpoint=other).count() == 5


@pytest.mark.parametrize("found", [{"content": RED}, {"slots": RED}])
def test_a_red_canary_at_the_end_of_a_rest_makes_it_longer(
    endpoint: Endpoint, found: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        breaker.failed(endpoint, "no token")
    change(endpoint, rest_until=ago(1))
    monkeypatch.setattr(canaries._Round, "run", lambda self: found)
    held = claim_canaries("w")
    assert held is not None
    canaries.run_canaries(held, None, Control())  # type: ignore[arg-type]
    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.failures) == ("resting", 4)
    assert endpoint.rest_until is not None
    assert endpoint.rest_until > timezone.now()
    assert claim_canaries("w") is None, "or the worker would do nothing else from now on"


def test_a_red_canary_of_a_server_that_is_up_opens_no_breaker(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(endpoint, canaries_wanted=True)
    monkeypatch.setattr(canaries._Round, "run", lambda self: {"content": RED})
    held = claim_canaries("w")
    assert held is not None
    canaries.run_canaries(held, None, Control())  # type: ignore[arg-type]
    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.failures, endpoint.has_red_canary) == ("up", 0, True)


def test_an_earlier_runs_good_end_takes_nothing_from_a_rest(endpoint: Endpoint) -> None:
    for _ in range(3):
        breaker.failed(endpoint, "no token")
    breaker.succeeded(endpoint)
    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.failures) == ("resting", 3)
    assert endpoint.rest_until is not None, "without it nothing would ever try this server again"


def test_why_a_step_is_paused_is_said_also_where_one_red_canary_kept_the_others_from_being_tried(
    endpoint: Endpoint, picky: ToyStep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToyStep, "needs", frozenset({"content", "slots"}))
    assert paused_everywhere(picky) is None, "it will be tried"
    change(endpoint, canaries={"slots": RED})
    reason = paused_everywhere(picky)
    assert reason is not None
    assert reason.to_json() == RED["reason"]


@pytest.mark.parametrize("state", ["paused", "quarantined"])
def test_failures_do_not_lift_what_a_person_or_the_pool_decided(endpoint: Endpoint, state: str) -> None:
    change(endpoint, state=state)
    for _ in range(4):
        breaker.failed(endpoint, "no token")
    breaker.close(endpoint)
    endpoint.refresh_from_db()
    assert endpoint.state == state


@pytest.fixture
def closed(endpoint: Endpoint, picky: ToyStep) -> Endpoint:
    """A server that was tried and may not run the step."""
    change(endpoint, canaries={"prefix": GREEN})
    return endpoint


def close_step(endpoint: Endpoint) -> None:
    change(endpoint, canaries={"prefix": RED}, canaries_at=timezone.now())
    Attempt.objects.update(changed_at=ago(61))
    sweep_once()


def test_who_waits_for_a_step_that_was_closed_meanwhile_is_let_go_at_no_cost(
    closed: Endpoint, post: Submit, kim: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labs.actions.sweep.wake", lambda task: True)
    attempt = post(kim)
    close_step(closed)
    attempt.refresh_from_db()
    assert (attempt.state, attempt.reason, attempt.charged) == ("errored", "step_paused", False)


def test_what_was_recorded_before_counts_as_proving_nothing(
    closed: Endpoint, post: Submit, kim: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labs.actions.sweep.wake", lambda task: True)
    attempt = post(kim)
    claim = claim_next("w")
    assert claim is not None
    assert finish(claim, drive(text="sick"))
    close_step(closed)
    attempt.refresh_from_db()
    assert attempt.state == "open", "the next round waits for its answers"
    assert attempt.rounds.get().accepted_run == claim.run


def test_what_is_claimed_while_the_sweep_looks_at_it_goes_on(
    closed: Endpoint, post: Submit, kim: User
) -> None:
    attempt = post(kim)
    claim = claim_next("w")
    assert claim is not None
    assert finish(claim, drive(text="sick"))
    attempt.refresh_from_db()
    Attempt.objects.update(not_before=None)
    assert claim_next("other") is not None
    end_paused(attempt)
    attempt.refresh_from_db()
    assert attempt.state == "running"
    assert attempt.rounds.get().accepted_run is None


def test_a_server_that_has_not_been_tried_closes_no_step(
    endpoint: Endpoint, picky: ToyStep, post: Submit, kim: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labs.actions.sweep.wake", lambda task: True)
    attempt = post(kim)
    Attempt.objects.update(changed_at=ago(61))
    sweep_once()
    attempt.refresh_from_db()
    assert attempt.state == "queued"


def test_a_resting_server_that_is_red_closes_the_step_too(
    closed: Endpoint, post: Submit, kim: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labs.actions.sweep.wake", lambda task: True)
    attempt = post(kim)
    change(closed, state="resting", rest_until=timezone.now() + timedelta(hours=1))
    Attempt.objects.update(changed_at=ago(61))
    sweep_once()
    attempt.refresh_from_db()
    assert attempt.state == "queued", "it rests, but may run the step when it is back"
    close_step(closed)
    attempt.refresh_from_db()
    assert attempt.reason == "step_paused"


def test_one_that_comes_back_as_another_server_than_its_pool_has_is_kept_out(endpoint: Endpoint) -> None:
    pool = Pool.objects.create(name="class", fingerprint="old")
    change(endpoint, state=Endpoint.State.RESTING, failures=4, pool=pool, fingerprint="new")
    breaker.close(endpoint)
    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.failures) == (Endpoint.State.QUARANTINED, 0)
    change(endpoint, state=Endpoint.State.RESTING, fingerprint="old")
    breaker.close(endpoint)
    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.detail) == (Endpoint.State.UP, "")
