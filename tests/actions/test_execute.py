"""One run from claim to finish against a server that misbehaves, with everything between the two as it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

import labs.actions.execute as execute_module
from labs.actions.cancel import cancel
from labs.actions.execute import drive_all
from labs.actions.probe import probe
from labs.actions.sweep import sweep_once
from labs.live import topics
from labs.models import (
    Attempt,
    Course,
    Endpoint,
    Enrolment,
    FrameStore,
    GradeEvent,
    Reason,
    Run,
    State,
    StoredRecording,
)
from tests.actions.conftest import Submit
from tests.actions.rows import charged, fresh
from tests.live.servers import Valkey
from tests.llama.byte_server import END, SSE_HEAD, Peer, answer, chunked
from tests.measure.driving import wait_until
from tests.measure.scripted import ScriptedLlama, ScriptedSlot
from tests.measure.streams import DONE, event, finish, token, usage

# The run's threads have connections of their own, so what they read must be committed.
pytestmark = pytest.mark.django_db(transaction=True)

NOBODY = "redis://127.0.0.1:1/0"


@pytest.fixture(autouse=True)
def quick(settings: Settings, valkey: Valkey, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.LABHUB_CANCEL_POLL_S = 0.02
    settings.LABHUB_BEAT_S = 0.1
    monkeypatch.setattr("labs.actions.sweep.wake", lambda task: True)
    topics.publisher.cache_clear()
    yield
    topics.publisher.cache_clear()
    execute_module._client.cache_clear()


@pytest.fixture
def endpoint(llama: ScriptedLlama) -> Endpoint:
    return Endpoint.objects.create(name="a", base_url=llama.url, state=Endpoint.State.UP)


class Worker(threading.Thread):
    """Another worker's thread that got a wake-up."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.runs: int | None = None
        self.start()

    def run(self) -> None:
        try:
            self.runs = drive_all()
        finally:
            connection.close()

    def executed(self) -> int:
        """How many runs it had, once nothing is left for it."""
        self.join(20)
        assert self.runs is not None, "the worker did not end"
        return self.runs


def go_on() -> int:
    """A wake-up after every pause is over."""
    Attempt.objects.update(not_before=None)
    return drive_all()


def outcomes(attempt: Attempt) -> list[str]:
    return list(attempt.runs.values_list("outcome", flat=True))


# -- Stop ------------------------------------------------------------------------------------------------------


def test_stop_between_two_tokens_closes_the_connection_at_once(
    kim: User, post: Submit, endpoint: Endpoint, llama: ScriptedLlama, caplog: pytest.LogCaptureFixture
) -> None:
    """B2 and E3b: the next token is ten seconds away, and no thread is killed."""
    llama.token_s = 10
    attempt = post(kim)
    worker = Worker()
    wait_until(lambda: llama.slots[0].n_decoded == 1)
    stopped_s = time.monotonic()
    cancel(attempt)
    wait_until(lambda: llama.open_chats() == 0, 5.0)
    assert worker.executed() == 1
    assert time.monotonic() - stopped_s < 8, "the next token was not waited for"
    assert (fresh(attempt).state, outcomes(attempt)) == (State.CANCELLED, ["cancelled"])
    assert StoredRecording.objects.get().data["figures"]["text"] == "b", "what had come is kept"
    assert not [record for record in caplog.records if record.levelname in {"ERROR", "WARNING"}]


def test_stop_in_the_queue_leaves_the_run_of_somebody_else_alone(
    kim: User, lee: User, post: Submit, endpoint: Endpoint, llama: ScriptedLlama
) -> None:
    """B3: one slot. The second never reaches the server, and whom the server cut off tries again uncharged."""
    cut_off = threading.Event()

    def without_an_end(peer: Peer) -> None:
        peer.send(SSE_HEAD + chunked(event(token("A"))))
        cut_off.wait(20)

    llama.slots = [ScriptedSlot(0)]
    llama.misbehave = without_an_end
    running = post(kim)
    worker = Worker()
    wait_until(lambda: len(llama.chats) == 1)
    queued = post(lee)
    assert drive_all() == 0, "the whole endpoint is leased"
    cancel(queued)
    assert (fresh(queued).state, charged(lee)) == (State.CANCELLED, 0)
    assert (llama.open_chats(), fresh(running).state) == (1, State.RUNNING)
    cut_off.set()
    assert worker.executed() == 1
    run = running.runs.get()
    assert (run.outcome, run.reason) == (Run.Outcome.ERRORED, Reason.BAD_STREAM)
    assert (fresh(running).state, fresh(running).returned) == (State.QUEUED, True)
    llama.misbehave = None
    assert go_on() == 1
    assert (fresh(running).state, outcomes(running)) == (State.OPEN, ["errored", "recorded"])
    assert charged(kim) == 1
    assert len(llama.chats) == 2


# -- a server that is not as it should be ------------------------------------------------------------------------


def test_a_stranger_in_between_repeats_the_run_and_grades_nothing(
    kim: User, post: Submit, endpoint: Endpoint, llama: ScriptedLlama
) -> None:
    """B6c: the run with the stranger is never the one that counts."""
    llama.before_chat = lambda number: llama.foreign_task(1) if number == 1 else None
    attempt = post(kim)
    assert drive_all() == 1
    assert (fresh(attempt).state, outcomes(attempt)) == (State.QUEUED, ["disturbed"])
    assert go_on() == 1
    assert outcomes(attempt) == ["disturbed", "recorded"]
    accepted = attempt.rounds.get().accepted_run
    assert accepted is not None
    assert accepted.number == 2
    assert not GradeEvent.objects.exists()


@pytest.mark.parametrize(
    "loading", [b'{"error":{"code":503,"message":"Loading model"}}', b'{"status":"loading model"}']
)
def test_a_loading_server_is_waited_for_at_no_cost(
    kim: User, post: Submit, endpoint: Endpoint, llama: ScriptedLlama, loading: bytes
) -> None:
    """B9: it uses no run and no attempt, and comes again after a pause."""
    ready = llama._small
    refusal = answer("503 Service Unavailable", loading)
    llama._small = lambda path, body: refusal if path == "/health" else ready(path, body)  # type: ignore[method-assign]
    attempt = post(kim)
    assert drive_all() == 1
    assert (fresh(attempt).state, outcomes(attempt)) == (State.QUEUED, ["not_idle"])
    not_before = fresh(attempt).not_before
    assert not_before is not None
    assert not_before > timezone.now()
    assert go_on() == 0, "nothing is sent until a probe finds it ready"
    assert probe(endpoint) == Endpoint.State.LOADING
    llama._small = ready  # type: ignore[method-assign]
    assert probe(endpoint) == Endpoint.State.UP
    Endpoint.objects.update(canaries_of=F("fingerprint"), canaries_wanted=False)  # they are other tests'
    assert go_on() == 1
    assert (fresh(attempt).state, outcomes(attempt)) == (State.OPEN, ["not_idle", "recorded"])
    assert (charged(kim), len(llama.chats)) == (1, 1)


@pytest.mark.parametrize("status", ["500 Internal Server Error", "502 Bad Gateway", "404 Not Found"])
def test_a_server_that_refuses_everything_is_found_out_and_rests(
    kim: User, lee: User, course: Course, post: Submit, endpoint: Endpoint, llama: ScriptedLlama, status: str
) -> None:
    """B9: health is green and every completion fails. It is asked once a student, and after three not at all."""
    llama.misbehave = lambda peer: peer.send(answer(status, b'{"error":{"message":"boom"}}'))
    others = [User.objects.create_user(name) for name in ("park", "choi")]
    for other in others:
        Enrolment.objects.create(user=other, course=course)
    attempts = [post(user) for user in (kim, lee, *others)]
    assert drive_all() == 3
    states = [(fresh(attempt).state, fresh(attempt).reason) for attempt in attempts]
    assert states[:3] == [(State.ERRORED, "rejected_by_server")] * 3
    assert states[3] == (State.QUEUED, "")
    assert [charged(user) for user in (kim, lee, others[0])] == [0, 0, 0]
    assert len(llama.chats) == 3
    endpoint.refresh_from_db()
    assert endpoint.state == Endpoint.State.RESTING
    assert f"HTTP {status[:3]}" in endpoint.detail


def test_a_prompt_that_is_refused_says_nothing_of_the_server(
    kim: User, post: Submit, endpoint: Endpoint, llama: ScriptedLlama
) -> None:
    llama.misbehave = lambda peer: peer.send(
        answer("400 Bad Request", b'{"error":{"code":400,"message":"no"}}')
    )
    post(kim)
    drive_all()
    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.failures) == (Endpoint.State.UP, 0)


# -- what the rest of the house does meanwhile ---------------------------------------------------------------------


def test_without_redis_the_run_is_whole(
    kim: User, post: Submit, endpoint: Endpoint, llama: ScriptedLlama, settings: Settings
) -> None:
    """D5: a publish that fails ends no run."""
    settings.REDIS_URL = NOBODY
    topics.publisher.cache_clear()
    attempt = post(kim)
    assert drive_all() == 1
    assert (fresh(attempt).state, outcomes(attempt)) == (State.OPEN, ["recorded"])
    assert StoredRecording.objects.get().data["figures"]["text"] == "b ab ab "
    assert FrameStore.objects.count() == 1


def test_a_wake_up_that_comes_again_starts_no_second_run(
    kim: User, post: Submit, endpoint: Endpoint, llama: ScriptedLlama
) -> None:
    """E1: five wake-ups and the sweep come while the run goes on (and beyond its lease: test_workers.py)."""
    llama.token_s = 0.1
    attempt = post(kim)
    first = Worker()
    wait_until(lambda: len(llama.chats) == 1)
    again: list[Worker] = []
    while first.is_alive():
        if len(again) < 5:
            again.append(Worker())
        sweep_once()
        first.join(0.05)
    assert sorted(worker.executed() for worker in [first, *again]) == [0, 0, 0, 0, 0, 1]
    assert (fresh(attempt).state, outcomes(attempt)) == (State.OPEN, ["recorded"])
    assert (len(llama.chats), StoredRecording.objects.count(), charged(kim)) == (1, 1, 1)


def endless(data: bytes) -> Callable[[Peer], None]:
    def script(peer: Peer) -> None:
        peer.send(SSE_HEAD)
        while True:  # until the client has gone, and `send` fails
            peer.send(chunked(data))
            time.sleep(0.01)

    return script


@pytest.mark.parametrize(
    "script",
    [Peer.watch_close, endless(b":\n\n"), endless(event(token("A")))],
    ids=["silent", "pings", "tokens"],
)
def test_a_run_that_would_never_end_ends_by_its_own_clock(
    kim: User, post: Submit, endpoint: Endpoint, llama: ScriptedLlama, settings: Settings, script: Any
) -> None:
    """E6: in a thread, where no signal comes. It is not tried again, and the connection is closed."""
    settings.LABHUB_TOTAL_S = 0.4
    llama.misbehave = script
    attempt = post(kim)
    assert Worker().executed() == 1
    assert (fresh(attempt).state, fresh(attempt).reason) == (State.ERRORED, "time_limit")
    assert outcomes(attempt) == ["errored"]
    assert charged(kim) == 0
    wait_until(lambda: llama.open_chats() == 0, 5.0)


def test_a_long_answer_costs_no_more_queries_than_a_short_one(
    kim: User, lee: User, post: Submit, endpoint: Endpoint, llama: ScriptedLlama
) -> None:
    """F1: tokens are kept in memory and stored in one row at the end."""

    def queries(user: User, tokens: int) -> int:
        pieces = [token("A ")] * tokens + [finish(), usage(9, tokens), DONE]
        llama.misbehave = lambda peer: peer.send(SSE_HEAD + b"".join(chunked(event(p)) for p in pieces) + END)
        attempt = post(user)
        with CaptureQueriesContext(connection) as seen:
            assert drive_all() == 1
        stored = StoredRecording.objects.get(run__attempt=attempt)
        assert stored.data["figures"]["pieces"] == tokens
        return len(seen)

    assert queries(kim, 4) == queries(lee, 400)
    assert FrameStore.objects.count() == 2
