"""The control thread: it brings Stop and the loss of a lease to a run, whatever befalls the database."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import InterfaceError

import labs.actions.execute as execute_module
import labs.actions.watch as watch_module
from labs.actions.canaries import claim_canaries
from labs.actions.cancel import cancel
from labs.actions.claim import Claim, LeaseKey, extend
from labs.actions.execute import drive_all
from labs.actions.finish import finish
from labs.actions.watch import Watch
from labs.models import Attempt, Endpoint, Lease, State
from tests.actions.conftest import Submit
from tests.actions.rows import claim
from tests.actions.toy import drive

# The control thread has a connection of its own, so what it reads must be committed.
pytestmark = [pytest.mark.usefixtures("endpoint"), pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def quick(settings: LazySettings) -> Iterator[None]:
    """Once nothing is held the thread is gone, with its connection; else it would run on into other tests."""
    settings.LABHUB_CANCEL_POLL_S = settings.LABHUB_BEAT_S = 0.02
    yield
    wait_until(lambda: not watching())


def watching() -> bool:
    return "watch" in {thread.name for thread in threading.enumerate()}


def wait_until(true: Callable[[], bool], limit_s: float = 20) -> None:
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.01)


def test_stop_reaches_the_run(kim: User, post: Submit) -> None:
    attempt = post(kim)
    held = claim()
    with Watch("w").over(held) as control:
        cancel(attempt)
        wait_until(lambda: control.stopped == "cancelled")


def test_after_an_idle_time_another_thread_watches(kim: User, post: Submit) -> None:
    attempt = post(kim)
    held, watch = claim(), Watch("w")
    with watch.over(held):
        assert watching()
    wait_until(lambda: not watching())
    with watch.over(held) as control:
        cancel(attempt)
        wait_until(lambda: control.stopped == "cancelled")


def test_a_lease_taken_over_stops_the_run(kim: User, post: Submit) -> None:
    post(kim)
    held = claim()
    with Watch("w").over(held) as control:
        Lease.objects.update(holder="other")
        wait_until(lambda: control.stopped == "lost")


def test_a_fault_in_one_round_leaves_the_thread_alive(
    kim: User, post: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = post(kim)
    held = claim()
    faults: list[Exception] = [InterfaceError("connection already closed"), KeyError("a fault of ours")]

    def fails_twice(worker: str, leases: Collection[LeaseKey]) -> set[LeaseKey]:
        if faults:
            raise faults.pop()
        return extend(worker, leases)

    monkeypatch.setattr(watch_module, "extend", fails_twice)
    with Watch("w").over(held) as control:
        wait_until(lambda: not faults)
        cancel(attempt)
        wait_until(lambda: control.stopped == "cancelled")


def test_the_lease_of_canaries_is_beaten_and_its_loss_is_told(endpoint: Endpoint) -> None:
    Endpoint.objects.update(canaries_wanted=True)
    held = claim_canaries("w")
    assert held is not None
    until = Lease.objects.get().expires_at
    assert until is not None
    with Watch("w").over(held) as control:
        wait_until(lambda: bool(Lease.objects.filter(expires_at__gt=until)))
        Lease.objects.update(token=held.token + 1)
        wait_until(lambda: control.stopped == "lost")


def test_a_run_over_its_limit_is_stopped_and_beaten_no_more(
    kim: User, post: Submit, settings: LazySettings
) -> None:
    settings.LABHUB_RUN_S = 0
    post(kim)
    held = claim()
    until = Lease.objects.get().expires_at
    with Watch("w").over(held) as control:
        wait_until(lambda: control.stopped == "lost")
        assert Lease.objects.get().expires_at == until


def test_a_worker_that_is_told_to_end_claims_no_other_run(
    kim: User, lee: User, post: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    post(kim), post(lee)
    ended: list[Claim] = []

    def execute(held: Claim) -> None:
        finish(held, drive())
        ended.append(held)

    monkeypatch.setattr(execute_module, "execute", execute)
    assert drive_all(stopping=lambda: bool(ended)) == 1
    assert Attempt.objects.filter(state=State.QUEUED).count() == 1
    assert drive_all() == 1
