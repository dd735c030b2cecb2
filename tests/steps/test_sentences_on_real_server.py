"""`first-sentence` and `voice-turn` on the real llama-server, by its own counters: nothing here asserts a time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from labs.grading.checks import Check, Verdict
from labs.grading.mouth import counted
from labs.grading.turns import would_compute
from labs.llama.client import LlamaClient
from labs.llama.process import EmbeddedServer
from labs.steps import talk, three
from labs.steps.base import Seen, Step
from labs.steps.examples import Answers, play
from labs.steps.first_sentence import FirstSentence
from labs.steps.voice_turn import KEYS, REFERENCES, VoiceTurn
from tests.steps.real_server import RealServer

pytestmark = pytest.mark.server

PASS, FAIL = Verdict.PASS, Verdict.FAIL


@pytest.fixture
def client(llama_server: EmbeddedServer) -> Iterator[LlamaClient]:
    with LlamaClient(llama_server.base_url) as client:
        yield client


def graded(step: Step, seen: Seen) -> dict[str, Check]:
    return {check.key: check for check in step.grade(seen)}


def reasons(checks: dict[str, Check]) -> list[str]:
    return [str(check.reason) for check in checks.values()]


@pytest.mark.parametrize("seed", [1, 2])
def test_first_sentence_with_model_answers(client: LlamaClient, seed: int) -> None:
    seen = play(FirstSentence(), RealServer(client), seed=seed)
    checks = graded(FirstSentence(), seen)
    assert {check.verdict for check in checks.values()} == {PASS}, reasons(checks)
    run = seen.run_of("ask")
    for key in three.KEYS:
        figures = run[key].figures
        pieces = counted(run[key])
        assert "".join(text for text, _ in pieces) == figures.text
        # The end of the text is a token without text; all others are counted on their pieces.
        assert (figures.predicted_n or 0) - sum(tokens or 0 for _, tokens in pieces) in (0, 1)


def turns(client: LlamaClient, answers: Answers | None = None) -> tuple[Seen, dict[str, Check]]:
    seen = play(VoiceTurn(), RealServer(client), answers)
    return seen, graded(VoiceTurn(), seen)


def test_voice_turn_with_model_answers(client: LlamaClient) -> None:
    seen, checks = turns(client)
    assert {check.verdict for check in checks.values()} == {PASS}, reasons(checks)
    run = seen.run_of("design")
    assert all(0 < (run[key].figures.prompt_n or 0) < 100 for key in KEYS[1:])
    assert all((run[key].figures.cache_n or 0) > 150 for key in KEYS[1:])


def test_the_reference_computes_what_its_tokens_say(client: LlamaClient) -> None:
    drawn_order = ",".join(talk.REFERENCE_ORDER)
    all_of_them = [f"{turn}:{key}" for turn in talk.TURNS for key in talk.TITLES]
    seen, checks = turns(client, {"design": {"order": drawn_order, "riding": all_of_them, "max_tokens": 8}})
    assert checks["half"].verdict is FAIL
    run = seen.run_of("design")
    said = would_compute([run[key].prompt_ids for key in REFERENCES])
    found = [run[key].figures.prompt_n or 0 for key in KEYS[1:]]
    assert all(abs(a - b) <= 2 for a, b in zip(said, found, strict=True)), (said, found)
