"""A run's lines, from its request to its end: followed by ids, without a prompt, a key or a person's name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

import labs.actions.execute as execute_module
from labs.actions.execute import WORKER, drive_all
from labs.actions.sweep import sweep_once
from labs.live import topics
from labs.logs import bound
from labs.models import Attempt, Endpoint, State
from tests.actions.conftest import Submit
from tests.actions.rows import fresh
from tests.lines import Lines
from tests.llama.byte_server import answer
from tests.measure.scripted import ScriptedLlama
from tests.system.site import ROOT

# The run's threads have connections of their own, so what they read must be committed.
pytestmark = pytest.mark.django_db(transaction=True)

PROMPT, PERSON, KEY = "purple elephants", "Private", "key-0123456789abcdef"


@pytest.fixture(autouse=True)
def quick(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.LABHUB_CANCEL_POLL_S = 0.02
    settings.REDIS_URL = f"redis://:{KEY}@127.0.0.1:1/0"  # away, and that is logged
    monkeypatch.setattr("labs.actions.sweep.wake", lambda task: True)
    monkeypatch.setattr("labs.live.topics.Topic.finish", lambda topic: True)  # it would wait for Redis
    topics.publisher.cache_clear()
    yield
    topics.publisher.cache_clear()
    execute_module._client.cache_clear()


@pytest.fixture
def attempt(kim: User, post: Submit, llama: ScriptedLlama, lines: Lines) -> Attempt:
    Endpoint.objects.create(name="ep-a", base_url=llama.url, api_key=KEY, state=Endpoint.State.UP)
    User.objects.update(first_name=PERSON, last_name=PERSON)
    with bound(request="request-1"):
        return post(kim, say=PROMPT)


def test_a_request_and_its_run_are_one_story(attempt: Attempt, lines: Lines) -> None:
    assert drive_all() == 1
    assert fresh(attempt).state == State.OPEN
    own = [line for line in lines.lines if line.get("attempt") == str(attempt.pk)]
    queued, *ran = own
    assert (queued["request"], queued["message"]) == ("request-1", "round one of toy is queued")
    begins, ends = (line for line in ran if line["logger"] == "labs.actions.execute")
    assert {name: begins[name] for name in ("run", "worker", "endpoint")} == {
        "run": "1",
        "worker": WORKER,
        "endpoint": "ep-a",
    }
    assert ends["message"] == "run ends: recorded as planned"


def test_whatever_goes_wrong_no_line_holds_what_is_not_ours_to_write_down(
    attempt: Attempt, llama: ScriptedLlama, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's errors and the grader's tracebacks, a lost worker, a broker and a Redis that are away."""
    said = f'{{"error":{{"code":500,"message":"cannot parse: {PROMPT}","type":"server_error"}}}}'
    llama.misbehave = lambda peer: peer.send(answer("500 Oops", said.encode()))
    drive_all()
    llama.misbehave = None
    Attempt.objects.update(state=State.QUEUED, not_before=None, finished_at=None)

    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("the grader is broken")

    monkeypatch.setattr("labs.actions.finish.grade_now", crash)
    drive_all()
    Attempt.objects.update(state=State.OPEN, changed_at="2020-01-01T00:00Z")
    monkeypatch.setattr("labs.actions.sweep.seen_of", crash)
    sweep_once()
    broken = [line for line in lines.lines if "error" in line]
    assert {line["logger"] for line in broken} >= {"labs.actions.finish", "labs.actions.sweep"}
    [swept] = [line for line in broken if line["logger"] == "labs.actions.sweep"]
    assert (swept["repair"], swept["attempt"]) == ("expire_open", str(attempt.pk))
    said_of_us = lines.text.replace(str(ROOT), "")  # tracebacks name the folder, which may be anybody's
    for private in (PROMPT, PERSON, KEY, "kim"):
        assert private not in said_of_us
