"""Each fault through the real driver: what it is called, and that nobody passes or fails by it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labs.grading.canaries import CANARIES
from labs.grading.checks import Verdict
from labs.grading.sane import ours, served
from labs.llama.client import LlamaClient
from labs.llama.stream import Limits
from labs.measure import asking
from labs.measure.outcome import Drive
from labs.measure.plan import Ask, Plan
from labs.steps.barge_in import BargeIn
from labs.steps.cache_break import CacheBreak
from labs.steps.examples import play
from tests.fakellama.playing import FakePlay
from tests.fakellama.process import FakeServer
from tests.measure.driving import drive, user

LIMITS = Limits(first_token_s=1.0, idle_s=0.6, total_s=20)
STORY = "The harbour has four piers of granite and one of oak. " * 3
TWO = Plan((Ask("a", user(STORY), 8, lab_line=True), Ask("b", user(STORY), 8, lab_line=True)))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeServer]:
    with FakeServer(tmp_path_factory.mktemp("faulty"), "--scale", "0.1") as server:
        yield server


@pytest.fixture
def server(running: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    """Healthy before and after. Little patience with a server that does not answer."""
    monkeypatch.setattr(asking, "RELEASE_S", 0.2)
    monkeypatch.setattr(LlamaClient.get, "__defaults__", (0.5,))
    yield running
    running.faults()


def run(server: FakeServer, plan: Plan = TWO) -> Drive:
    return drive(server.base_url, plan, limits=LIMITS)


FAILURES: dict[str, tuple[dict[str, Any], str, str]] = {
    "reset in decode": ({"kind": "die", "how": "reset", "after": 2}, "bad_stream", "truncated"),
    "end in decode": ({"kind": "die", "how": "eof", "after": 2}, "bad_stream", "truncated"),
    "reset in prefill": (
        {"kind": "die", "how": "reset", "phase": "prefill", "after": 0},
        "bad_stream",
        "truncated",
    ),
    "end in prefill": (
        {"kind": "die", "how": "eof", "phase": "prefill", "after": 0},
        "bad_stream",
        "truncated",
    ),
    "error in the stream": ({"kind": "stream_error", "after": 2}, "bad_stream", "error"),
    "overflow": ({"kind": "overflow"}, "rejected_by_server", "rejected"),
    "wedged in decode": ({"kind": "wedge", "after": 2}, "idle_timeout", "idle_timeout"),
    "wedged in prefill": (
        {"kind": "wedge", "phase": "prefill", "after": 0},
        "first_token_timeout",
        "first_token_timeout",
    ),
}


@pytest.mark.parametrize(("fault", "reason", "end"), FAILURES.values(), ids=FAILURES.keys())
def test_a_failure_ends_the_run_and_the_next_is_well(
    server: FakeServer, fault: dict[str, Any], reason: str, end: str
) -> None:
    server.faults({**fault, "skip": 1, "times": 1})
    result = run(server)
    assert (result.outcome, result.reason) == ("errored", reason), result.detail
    assert result.record["a"].figures.end == "done"
    assert result.record["b"].figures.end == end
    if fault["kind"] == "wedge":
        with LlamaClient(server.base_url) as client:
            assert client.get_object("/health") == {"status": "ok"}
        server.faults()
    again = run(server)
    assert (again.outcome, again.record.metrics_agree) == ("recorded", True), again.detail


REFUSALS: dict[str, dict[str, Any]] = {
    "no key": {"kind": "unauthorised"},
    "loading": {"kind": "loading", "how": "error"},
    "loading, older": {"kind": "loading", "how": "status"},
}


@pytest.mark.parametrize("fault", REFUSALS.values(), ids=REFUSALS.keys())
@pytest.mark.parametrize("calls_before", [0, 8], ids=["at once", "in mid-run"])
def test_a_refusal_is_the_endpoints_trouble(
    server: FakeServer, fault: dict[str, Any], calls_before: int
) -> None:
    server.faults({**fault, "skip": calls_before})
    result = run(server)
    assert (result.outcome, result.reason) == ("errored", "endpoint_down"), result.detail
    if fault["kind"] == "loading":
        with LlamaClient(server.base_url) as client:
            assert client.health().state == "loading"
    server.faults()
    assert run(server).outcome == "recorded"


@pytest.mark.parametrize(("phase", "after"), [("decode", 2), ("prefill", 0)])
def test_a_death_is_recorded_and_the_address_can_be_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str, after: int
) -> None:
    monkeypatch.setattr(asking, "RELEASE_S", 0.2)
    with FakeServer(tmp_path, "--scale", "0.1") as server:
        server.faults({"kind": "die", "phase": phase, "after": after})
        result = run(server)
        assert (result.outcome, result.reason) == ("errored", "bad_stream")
        assert not server.is_alive
        assert run(server).reason == "endpoint_down"
    with FakeServer(tmp_path, "--scale", "0.1", port=server.port) as second:
        assert run(second).outcome == "recorded"


def test_a_stranger_disturbs(server: FakeServer) -> None:
    for slot in (0, 1):
        server.faults({"kind": "stranger", "slot": slot, "times": 1})
        result = run(server)
        assert (result.outcome, result.reason) == ("disturbed", "slot_disturbed")
        assert (result.record.metrics_agree, result.record.foreign_tasks) == (False, 1)


def test_a_stranger_before_us_is_waited_for(server: FakeServer) -> None:
    server.faults({"kind": "stranger", "how": "now", "tokens": 400})
    result = run(server, Plan((Ask("a", user(STORY), 4),)))
    waited_us = result.record["a"].figures.headers_us
    assert waited_us is not None
    assert waited_us > 50_000
    assert result.outcome == "disturbed"


def test_a_server_without_slots_or_metrics_proves_nothing(server: FakeServer) -> None:
    server.faults({"kind": "no_slots"})
    result = run(server)
    assert (result.outcome, result.record["a"].id_task) == ("recorded", None)
    assert ours(result.record["a"]) is not None
    server.faults({"kind": "no_metrics"})
    result = run(server)
    assert (result.outcome, result.record.metrics_agree) == ("recorded", None)
    server.faults({"kind": "no_slots"}, {"kind": "no_metrics"})
    with LlamaClient(server.base_url) as client:
        checks = CacheBreak().grade(play(CacheBreak(), FakePlay(client, 0.1)))
    seen = {check.key: check.verdict for check in checks}
    assert seen.pop("prediction") is Verdict.PASS, "what was guessed needs no server"
    assert set(seen.values()) == {Verdict.INCONCLUSIVE}


def test_slow_slots_change_nothing(server: FakeServer) -> None:
    server.faults({"kind": "slow_slots", "seconds": 0.1})
    result = run(server)
    assert (result.outcome, result.record.metrics_agree, result.record.foreign_tasks) == ("recorded", True, 0)
    assert result.record["b"].figures.prompt_n == 1


def test_a_hidden_cache_is_found(server: FakeServer) -> None:
    other = Ask("b", user("Something else. " * 20), 2, lab_line=True)
    plan = Plan((Ask("a", user(STORY), 2, lab_line=True), other, Ask("back", user(STORY), 2, lab_line=True)))
    result = run(server, plan)
    assert served(result.record["back"], result.record["b"], result.record) is None
    server.faults({"kind": "host_cache"})
    result = run(server, plan)
    assert result.record["back"].figures.prompt_n == 1
    fault = served(result.record["back"], result.record["b"], result.record)
    assert fault is not None
    assert "keeps old prompts elsewhere" in str(fault.reason)


CANARY_OF: dict[str, str | None] = {
    "answer": None,  # no fault at all
    "buffer": "content",
    "host_cache": "prefix",
    "no_slots": "slots",
}


@pytest.mark.parametrize(("kind", "red"), CANARY_OF.items())
def test_the_right_canary_turns_red(server: FakeServer, tmp_path: Path, kind: str, red: str | None) -> None:
    names = [red] if red else list(CANARIES)
    with FakeServer(tmp_path, "--scale", "0.6") as slower:
        slower.faults({"kind": kind, "how": "body", "text": "The bakery opens at six. It sells rye bread."})
        for name in names:
            result = drive(slower.base_url, CANARIES[name].plan)
            assert result.outcome == "recorded", result.detail
            fault = CANARIES[name].judge(result.record)
            assert (fault is None) is (red is None), f"{name}: {fault}"


def test_a_server_that_goes_on_after_a_cut_fails_nobody(tmp_path: Path) -> None:
    with FakeServer(tmp_path, "--scale", "0.6") as slower, LlamaClient(slower.base_url) as client:
        slower.faults({"kind": "deaf"})
        step = BargeIn()
        checks = step.grade(play(step, FakePlay(client, 0.6), rounds=1))
    verdicts = {check.key: check.verdict for check in checks}
    assert {verdicts["cut-writing"], verdicts["cut-reading"]} == {Verdict.INCONCLUSIVE}
    assert Verdict.FAIL not in verdicts.values()


def test_a_stream_that_is_held_back_has_one_moment_for_all(server: FakeServer) -> None:
    server.faults({"kind": "buffer"})
    result = run(server)
    seen = result.record["a"].figures
    assert (result.outcome, seen.predicted_n) == ("recorded", 8)
    assert seen.role_us == seen.first_token_us == seen.last_token_us == seen.done_us


def test_what_it_says_can_be_set(server: FakeServer) -> None:
    server.faults({"kind": "answer", "text": "안녕하세요. 😀"})
    plan = Plan((Ask("a", user(STORY), 60), Ask("b", user(STORY), 4)))
    result = run(server, plan)
    seen = result.record["a"].figures
    assert (seen.text, seen.finish_reason) == ("안녕하세요. 😀", "stop")
    assert seen.predicted_n == len("안녕하세요") * 3 + 2 + 4 + 1, "bytes, a stop and a blank, bytes, the end"
    assert result.record["b"].figures.text == "안", "a piece that ends inside a character waits for the rest"


def test_an_unknown_fault_is_refused(server: FakeServer) -> None:
    for row in ({"kind": "nonsense"}, {"kind": "die", "wrong": 1}, {}):
        with pytest.raises(ValueError, match="fault"):
            server.faults(row)
