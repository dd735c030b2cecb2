"""The sweep ends what a lost process left behind, once, and tells the truth about it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.utils import timezone

from labs.actions.claim import claim_next
from labs.actions.finish import finish
from labs.actions.sweep import sweep_once
from labs.models import Attempt, AttemptCount, Endpoint, GradeEvent, Lease, Run, State
from tests.actions.conftest import Submit
from tests.actions.toy import drive

pytestmark = pytest.mark.usefixtures("endpoint")


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    monkeypatch.setattr("labs.actions.sweep.wake", lambda task: names.append(task.name) is None)
    return names


def lose_the_worker() -> None:
    Lease.objects.exclude(holder="").update(expires_at=timezone.now() - timedelta(seconds=1))
    Attempt.objects.update(not_before=None)


def test_a_lost_worker_returns_the_attempt_then_errors_it(kim: User, post: Submit) -> None:
    attempt = post(kim)
    for n in (1, 2, 3):
        late = claim_next("w")
        assert late is not None
        lose_the_worker()
        sweep_once()
        attempt.refresh_from_db()
        assert attempt.state == (State.QUEUED if n < 3 else State.ERRORED)
        assert not finish(late, drive()), "the lost worker comes back: its token is old"
        Attempt.objects.update(not_before=None)
    assert attempt.reason == "worker_lost"
    assert AttemptCount.objects.get(user=kim).charged == 0
    assert set(Run.objects.values_list("outcome", flat=True)) == {"lost"}
    assert not Lease.objects.exclude(holder="").exists()
    assert not GradeEvent.objects.exists()


def test_a_lease_in_time_is_left_alone(kim: User, post: Submit) -> None:
    attempt = post(kim)
    assert claim_next("w")
    sweep_once()
    attempt.refresh_from_db()
    assert attempt.state == State.RUNNING


def test_a_run_without_a_lease_is_ended(kim: User, post: Submit) -> None:
    attempt = post(kim)
    assert claim_next("w")
    Lease.objects.update(holder="", run=None, expires_at=None)
    Run.objects.update(started_at=timezone.now() - timedelta(seconds=10))
    sweep_once()
    attempt.refresh_from_db()
    assert attempt.state == State.QUEUED


def test_a_stopped_attempt_of_a_lost_worker_is_cancelled(kim: User, post: Submit) -> None:
    attempt = post(kim)
    assert claim_next("w")
    Attempt.objects.update(cancel_requested=True)
    lose_the_worker()
    sweep_once()
    attempt.refresh_from_db()
    assert attempt.state == State.CANCELLED


def test_an_open_attempt_expires_with_what_was_recorded(
    kim: User, post: Submit, settings: LazySettings
) -> None:
    attempt = post(kim)
    held = claim_next("w")
    assert held is not None
    finish(held, drive())
    sweep_once()
    attempt.refresh_from_db()
    assert attempt.state == State.OPEN
    settings.LABHUB_OPEN_ATTEMPT_S = -1
    sweep_once()
    attempt.refresh_from_db()
    assert attempt.state == State.GRADED
    assert GradeEvent.objects.get().points == 5


def test_nobody_waits_for_ever(kim: User, post: Submit, settings: LazySettings) -> None:
    attempt = post(kim)
    settings.LABHUB_QUEUED_S = -1
    sweep_once()
    attempt.refresh_from_db()
    assert (attempt.state, attempt.reason) == (State.ERRORED, "endpoint_down")
    assert AttemptCount.objects.get(user=kim).charged == 0


def test_wake_ups_are_repeated_while_somebody_waits(kim: User, post: Submit, no_broker: list[str]) -> None:
    Endpoint.objects.update(probed_at=timezone.now())
    sweep_once()
    assert no_broker == []
    post(kim)
    sweep_once()
    assert no_broker == ["labs.tasks.drive"]


def test_old_probes_are_asked_for_again(no_broker: list[str]) -> None:
    Endpoint.objects.update(probed_at=timezone.now() - timedelta(seconds=60))
    sweep_once()
    assert no_broker == ["labs.tasks.probe_endpoints"]
