"""Many workers, students who press Stop, and the sweep at the same time: every attempt ends once and is paid once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from labs.actions.cancel import cancel
from labs.actions.claim import Claim, claim_next
from labs.actions.finish import finish, put_back
from labs.actions.sweep import sweep_once
from labs.models import LIVE, Attempt, AttemptCount, Course, Endpoint, Enrolment, Lease, Run, State
from tests.actions.conftest import Submit
from tests.actions.toy import drive

STUDENTS = 12
LIMIT_S = 60


def work(name: str, rng: random.Random) -> None:
    """Claims until nothing is left, and ends each run in one of the ways a run can end."""
    until = time.monotonic() + LIMIT_S
    while Attempt.objects.filter(state__in=[State.QUEUED, State.RUNNING]).exists():
        assert time.monotonic() < until, "somebody waits for ever"
        Attempt.objects.filter(state=State.QUEUED).update(not_before=None)
        if claim := claim_next(name):
            end(claim, rng)


def end(claim: Claim, rng: random.Random) -> None:
    match rng.randrange(6):
        case 0:
            put_back(claim, "busy")
        case 1:
            finish(claim, drive("disturbed", reason="slot_disturbed"))
        case 2:
            finish(claim, drive("errored", reason="idle_timeout", token_seen=False))
        case 3:  # the worker is lost, and comes back when the sweep has been there
            past = timezone.now() - timedelta(seconds=1)
            Lease.objects.filter(run=claim.run, token=claim.run.token).update(expires_at=past)
            sweep_once()
            assert not finish(claim, drive())
        case _:
            finish(claim, drive())


def thread(faults: list[BaseException], job: Callable[[], None]) -> threading.Thread:
    """One that keeps what went wrong, and no connection."""

    def run() -> None:
        try:
            job()
        except BaseException as fault:
            faults.append(fault)
        finally:
            connection.close()

    return threading.Thread(target=run, daemon=True)


@pytest.mark.django_db(transaction=True)
def test_a_crowd(course: Course, post: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labs.actions.sweep.wake", lambda task: True)
    for n in range(3):
        Endpoint.objects.create(name=str(n), base_url=f"http://127.0.0.1:{n + 1}", state=Endpoint.State.UP)
    students = [User.objects.create_user(f"s{n}") for n in range(STUDENTS)]
    for student in students:
        Enrolment.objects.create(user=student, course=course)
        post(student)
    faults: list[BaseException] = []

    def stops() -> None:
        for attempt in list(Attempt.objects.order_by("?")[: STUDENTS // 2]):
            cancel(attempt)

    def worker(n: int) -> Callable[[], None]:
        return lambda: work(f"w{n}", random.Random(n))

    threads = [thread(faults, worker(n)) for n in range(4)] + [
        thread(faults, stops),
        thread(faults, sweep_once),
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join(LIMIT_S)
    assert not faults
    assert not Lease.objects.exclude(holder="").exists()
    assert not Run.objects.filter(outcome="").exists()
    leases = list(Run.objects.values_list("endpoint", "token"))
    assert len(leases) == len(set(leases)), "two runs on one lease"
    for attempt in Attempt.objects.all():
        assert attempt.state == State.OPEN or attempt.state not in LIVE
        assert not (attempt.state == State.OPEN and attempt.cancel_requested), "stopped, and yet it waits"
        count = AttemptCount.objects.get(user=attempt.user).charged
        assert count == int(attempt.charged), "given back once, or not at all"
        if attempt.state == State.ERRORED:
            assert not attempt.charged
