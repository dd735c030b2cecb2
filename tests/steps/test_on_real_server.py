"""The three graded steps on the real llama-server, by its own counters: nothing here asserts a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from labs.grading.checks import Check, Verdict
from labs.llama.client import LlamaClient
from labs.llama.process import EmbeddedServer
from labs.steps import blocks
from labs.steps.barge_in import BargeIn
from labs.steps.base import Seen, Step
from labs.steps.cache_break import CacheBreak
from labs.steps.examples import Answers, play
from labs.steps.first_token import FirstToken
from tests.steps.real_server import LIMITS, RealServer

pytestmark = pytest.mark.server

PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


@pytest.fixture
def client(llama_server: EmbeddedServer) -> Iterator[LlamaClient]:
    with LlamaClient(llama_server.base_url) as client:
        yield client


def by_key(checks: list[Check]) -> dict[str, Check]:
    return {check.key: check for check in checks}


def verdicts(checks: list[Check]) -> dict[str, Verdict]:
    return {check.key: check.verdict for check in checks}


def decided(step: Step, client: LlamaClient, tries: int = 3) -> Seen:
    """Played until no check is open, at most as often as the engine repeats a run on a noisy machine."""
    for _ in range(tries):
        seen = play(step, RealServer(client))
        checks = step.grade(seen)
        if all(check.verdict is not OPEN for check in checks):
            return seen
    raise AssertionError([str(check.reason) for check in checks if check.verdict is OPEN])


def first_round(client: LlamaClient, answers: Answers) -> dict[str, Check]:
    step = CacheBreak()
    return by_key(step.grade(play(step, RealServer(client), answers, rounds=1)))


def test_cache_break_with_model_answers(client: LlamaClient) -> None:
    step = CacheBreak()
    seen = decided(step, client)
    checks = step.grade(seen)
    assert verdicts(checks) == dict.fromkeys(("prediction", "break", "own-figures", "repaired"), PASS)
    saw = by_key(checks)["break"].evidence["saw"]
    assert saw["control"]["cache_n"] >= saw["control"]["n"] - 3
    assert saw["changed"]["prompt_n"] >= 0.8 * saw["changed"]["n"]
    repaired = by_key(checks)["repaired"].evidence["saw"]["after"]
    assert repaired["prompt_n"] <= repaired["n"] - repaired["lcp"] + 2


def test_an_identical_prompt_breaks_nothing(client: LlamaClient) -> None:
    checks = first_round(client, {"guess": {"second_clock": lambda _value, challenge: challenge["clock"]}})
    assert checks["break"].verdict is FAIL
    assert "the same" in str(checks["break"].reason)
    assert checks["break"].evidence["saw"]["changed"]["prompt_n"] <= 3


def test_a_change_at_the_tail_breaks_nothing(client: LlamaClient) -> None:
    checks = first_round(client, {"guess": {"place": "end", "pick_end": 20}})
    assert checks["break"].verdict is FAIL
    assert "in front of everything" in str(checks["break"].reason)


def test_the_clock_still_in_front_is_no_repair(client: LlamaClient) -> None:
    step = CacheBreak()
    answers = {"repair": {"order": ",".join(blocks.PLACES["front"])}}
    checks = by_key(step.grade(play(step, RealServer(client), answers)))
    assert checks["repaired"].verdict is FAIL
    assert "behind all documents" in str(checks["repaired"].reason)
    after = checks["repaired"].evidence["saw"]["after"]
    assert after["prompt_n"] >= 0.8 * after["n"]


def test_a_foreign_request_between_is_not_graded(client: LlamaClient) -> None:
    def foreign(key: str) -> None:
        if key == "changed":
            body: dict[str, Any] = {
                "messages": [{"role": "user", "content": "Hello from somebody else."}],
                "id_slot": 0,
                "max_tokens": 4,
            }
            with client.chat(body, LIMITS) as stream:
                assert list(stream)

    step = CacheBreak()
    checks = by_key(step.grade(play(step, RealServer(client, foreign), rounds=1)))
    assert checks["break"].verdict is OPEN
    assert checks["break"].disturbed


def test_first_token_with_model_answers(client: LlamaClient) -> None:
    step = FirstToken()
    seen = decided(step, client)
    assert set(verdicts(step.grade(seen)).values()) == {PASS}
    for ask in seen.run_of("predict").recordings.values():
        role_us, ttft_us = ask.figures.role_us, ask.figures.ttft_us
        assert role_us is not None
        assert ttft_us is not None
        assert role_us < ttft_us / 2
    waits = seen.run_of("mark")["waits"].figures
    assert waits.headers_us is not None
    assert waits.prompt_ms is not None
    assert waits.ttft_us is not None
    assert waits.ttft_us > waits.headers_us > 200_000


def test_barge_in_with_model_answers(client: LlamaClient) -> None:
    step = BargeIn()
    seen = decided(step, client)
    checks = step.grade(seen)
    assert set(verdicts(checks).values()) == {PASS}, [str(c.reason) for c in checks]
    cuts, stop = seen.run_of("cut"), seen.run_of("stop")
    reading = by_key(checks)["cut-reading"].evidence["saw"]
    assert reading["phase"] == "prefill"
    assert reading["ttft_us"] is None
    assert cuts["writing"].prompt_tokens_after is not None
    assert cuts["writing"].prompt_tokens_after < cuts["writing"].n + 198
    assert stop["stall"].closed_us is not None
    assert stop["same"].figures.headers_us is not None
    assert stop["other"].figures.headers_us is not None
    assert stop["same"].figures.headers_us > stop["other"].figures.headers_us


def test_examples_in_integers_agree_with_the_real_server(client: LlamaClient) -> None:
    """The model that the examples are played on counts as the real server does."""
    step, answers = CacheBreak(), {"guess": {"place": "between", "pick_between": 20}}
    real, model = play(step, RealServer(client), answers, rounds=1), play(step, answers=answers, rounds=1)

    def shape(seen: Seen) -> dict[str, list[bool]]:
        return {
            key: [
                r.figures.cache_n == 0,
                (r.figures.prompt_n or 0) <= 3,
                (r.figures.prompt_n or 0) < 0.3 * r.n,
            ]
            for key, r in seen.run_of("guess").recordings.items()
            if key != "cold"
        }

    assert shape(real) == shape(model)
