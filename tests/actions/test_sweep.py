"""The sweep ends what a lost process left behind, once, and tells the truth about it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.utils import timezone
from redis import ResponseError

from labs.actions.claim import claim_next
from labs.actions.finish import finish, put_back
from labs.actions.sweep import sweep_once
from labs.actions.wake import wake
from labs.metrics.own import SWEEP
from labs.models import (
    Attempt,
    AttemptCount,
    Course,
    Endpoint,
    GradeEvent,
    Lease,
    Run,
    State,
    StoredRecording,
)
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


@pytest.mark.parametrize(
    ("stopped", "state"), [(False, State.QUEUED), (True, State.CANCELLED)], ids=["goes on", "stopped"]
)
def test_a_running_attempt_whose_run_was_deleted_by_hand(
    kim: User, post: Submit, stopped: bool, state: State
) -> None:
    attempt = post(kim)
    assert claim_next("w")
    Lease.objects.update(holder="", run=None, expires_at=None)
    Run.objects.all().delete()
    Attempt.objects.update(cancel_requested=stopped)
    sweep_once()
    attempt.refresh_from_db()
    assert attempt.state == State.RUNNING, "it may have begun just now"
    Attempt.objects.update(changed_at=timezone.now() - timedelta(seconds=10))
    sweep_once()
    attempt.refresh_from_db()
    assert attempt.state == state


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


def test_a_server_that_is_never_idle_does_not_make_one_wait_for_ever(
    kim: User, post: Submit, settings: LazySettings
) -> None:
    """Each put-back changes the attempt, so its time in the queue counts and not that of its last change."""
    attempt = post(kim)
    Attempt.objects.update(queued_at=timezone.now() - timedelta(seconds=60))
    held = claim_next("w")
    assert held is not None
    put_back(held, "the slots did not fall idle")
    settings.LABHUB_QUEUED_S = 30
    sweep_once()
    attempt.refresh_from_db()
    assert attempt.state == State.ERRORED


def test_a_grader_that_fails_ends_the_attempt_and_stops_no_other_repair(
    kim: User, lee: User, post: Submit, settings: LazySettings, no_broker: list[str]
) -> None:
    broken, waiting = post(kim), post(lee)
    held = claim_next("w")
    assert held is not None
    finish(held, drive())
    recorded = StoredRecording.objects.get()
    recorded.data["figures"]["text"] = "crash"
    recorded.save()
    settings.LABHUB_OPEN_ATTEMPT_S = -1
    sweep_once()
    broken.refresh_from_db()
    assert (broken.state, broken.reason) == (State.ERRORED, "grader_error")
    assert AttemptCount.objects.get(user=kim).charged == 0
    assert "labs.tasks.drive" in no_broker, "somebody else still waits, and the wake-up comes"
    assert Attempt.objects.get(pk=waiting.pk).state == State.QUEUED


def test_a_repair_that_fails_stops_neither_the_others_nor_the_wake_ups(
    kim: User, post: Submit, no_broker: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    post(kim)
    Attempt.objects.create(
        course=Course.objects.get(),
        user=User.objects.create_user("gone"),
        step="toy",
        step_version=1,
        seed_number=0,
        state=State.OPEN,
        changed_at=timezone.now() - timedelta(days=30),
    )
    monkeypatch.setattr("labs.actions.sweep.seen_of", lambda attempt: 1 / 0)
    sweep_once()
    assert "labs.tasks.drive" in no_broker


def test_wake_ups_are_repeated_while_somebody_waits(kim: User, post: Submit, no_broker: list[str]) -> None:
    Endpoint.objects.update(probed_at=timezone.now())
    sweep_once()
    assert no_broker == []
    post(kim)
    sweep_once()
    assert no_broker == ["labs.tasks.drive"]


def test_a_broker_that_takes_nothing_stops_no_sweep(
    kim: User, post: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Redis that is read-only or full answers with an error that is none of the network's."""

    def read_only(**_: object) -> None:
        raise ResponseError("READONLY You can't write against a read only replica.")

    monkeypatch.setattr("labs.actions.sweep.wake", wake)
    monkeypatch.setattr("labs.tasks.drive.apply_async", read_only)
    post(kim)
    Endpoint.objects.update(probed_at=timezone.now())
    failed = SWEEP.get_sample_value("labhub_sweep_failures_total") or 0
    sweep_once()
    assert SWEEP.get_sample_value("labhub_sweep_failures_total") == failed + 1


def test_old_probes_are_asked_for_again(no_broker: list[str]) -> None:
    Endpoint.objects.update(probed_at=timezone.now() - timedelta(seconds=60))
    sweep_once()
    assert no_broker == ["labs.tasks.probe_endpoints"]
