"""Many at once on one database: no lock reaches a student, and no attempt is lost or doubled (cases F1, G1)."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from pytest_django import Settings

from labs.actions.claim import Claim
from labs.actions.errors import Refused
from labs.actions.finish import finish
from labs.actions.sweep import sweep_once
from labs.models import Attempt, AttemptCount, Course, Endpoint, Enrolment, Round, State, StoredRecording
from tests.actions.conftest import Submit
from tests.actions.rows import charged, claim
from tests.actions.toy import drive

pytestmark = pytest.mark.django_db(transaction=True)

STARTS = 20


def closing(job: Callable[[], object]) -> object:
    try:
        return job()
    finally:
        connection.close()


def students(course: Course, count: int) -> list[User]:
    users = [User.objects.create_user(f"s{n}") for n in range(count)]
    for user in users:
        Enrolment.objects.create(user=user, course=course)
    return users


def test_who_reads_and_then_writes_is_not_locked_out_by_a_write_in_between(course: Course, kim: User) -> None:
    """F1: on SQLite the second waits, because the first took the write lock before it read."""
    reading, written = threading.Event(), threading.Event()

    def reads_then_writes() -> None:
        with transaction.atomic():
            charged_before = AttemptCount.objects.filter(user=kim).count()
            reading.set()
            written.wait(0.3)  # the other one commits now, if it may
            AttemptCount.objects.create(course=course, user=kim, step="a", charged=charged_before)

    def writes() -> None:
        reading.wait(5)
        with transaction.atomic():
            AttemptCount.objects.create(course=course, user=kim, step="b")
        written.set()

    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(closing, job) for job in (reads_then_writes, writes)]:
            done.result(30)
    assert set(AttemptCount.objects.values_list("step", "charged")) == {("a", 0), ("b", 0)}


def test_twenty_starts_at_once_beside_a_worker_that_writes(
    course: Course, kim: User, post: Submit, endpoint: Endpoint
) -> None:
    """F1: the worker saves every 50 ms meanwhile, and nobody sees 'database is locked'."""
    post(kim)
    held: Claim = claim()
    users = students(course, STARTS)
    gate = threading.Barrier(STARTS)
    over = threading.Event()
    saved = 0

    def saves() -> None:
        nonlocal saved
        while not over.wait(0.05):
            StoredRecording.objects.create(run=held.run, key=f"k{saved}", position=saved, data={})
            saved += 1

    def starts(user: User) -> object:
        gate.wait(20)
        return post(user).pk

    with ThreadPoolExecutor(STARTS + 1) as threads:
        worker = threads.submit(closing, saves)
        found = [threads.submit(closing, lambda user=user: starts(user)) for user in users]
        try:
            ids = [start.result(60) for start in found]
        finally:
            over.set()
        worker.result(30)
    assert len(set(ids)) == STARTS
    assert Attempt.objects.filter(state=State.QUEUED).count() == STARTS
    assert saved == StoredRecording.objects.count()
    assert saved > 0


@pytest.mark.parametrize("same_key", [True, False], ids=["one form sent twice", "two tabs"])
def test_with_one_attempt_left_two_posts_make_one(
    course: Course, kim: User, post: Submit, same_key: bool
) -> None:
    """G1: three are allowed and two are used. A third post of the same form, after a lost answer, finds it again."""
    AttemptCount.objects.create(course=course, user=kim, step="toy", charged=2)
    first = uuid.uuid4()
    keys = [first, first] if same_key else [first, uuid.uuid4()]
    gate = threading.Barrier(2)

    def sends(key: uuid.UUID) -> object:
        gate.wait(5)
        try:
            return post(kim, key=key).pk
        except Refused as refused:
            return refused

    with ThreadPoolExecutor(2) as threads:
        got = [t.result(30) for t in [threads.submit(closing, lambda key=key: sends(key)) for key in keys]]
    attempt = Attempt.objects.get()
    refused = [one for one in got if isinstance(one, Refused)]
    assert [one for one in got if one not in refused] == [attempt.pk] * (2 - len(refused))
    assert len(refused) == (0 if same_key else 1)
    assert all(str(one) for one in refused), "a sentence"
    assert post(kim, key=Round.objects.get().submit_key).pk == attempt.pk
    assert charged(kim) == 3


def test_an_endpoint_that_is_deleted_leaves_nobody_waiting_for_ever(
    kim: User,
    lee: User,
    post: Submit,
    endpoint: Endpoint,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """G3: its row goes while somebody waits. Another endpoint takes over, and without one the queue has its limit."""
    monkeypatch.setattr("labs.actions.sweep.wake", lambda task: True)
    waiting, behind = post(kim), post(lee)
    endpoint.delete()
    other = Endpoint.objects.create(name="b", base_url="http://127.0.0.1:2", state=Endpoint.State.UP)
    held = claim()
    assert (held.attempt, held.endpoint) == (waiting, other)
    finish(held, drive())
    Endpoint.objects.update(state=Endpoint.State.DOWN)
    settings.LABHUB_QUEUED_S = -1
    sweep_once()
    behind.refresh_from_db()
    assert (behind.state, behind.reason, charged(lee)) == (State.ERRORED, "endpoint_down", 0)
