"""Every step's model answers through the real driver on the fake: all checks pass."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from labs.grading.checks import Check, Verdict
from labs.llama.client import LlamaClient
from labs.steps import all_steps
from labs.steps.base import Step
from labs.steps.examples import play
from tests.fakellama.playing import FakePlay
from tests.fakellama.process import FakeServer

QUICK = 0.1
# These close or wait after milliseconds of the wall, so the server must still be at work by then.
BY_THE_WALL = {"first-token": 0.5, "barge-in": 1.0}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[float, FakeServer]]:
    with contextlib.ExitStack() as stack:
        yield {
            scale: stack.enter_context(FakeServer(tmp_path_factory.mktemp("fake"), "--scale", str(scale)))
            for scale in (QUICK, *BY_THE_WALL.values())
        }


def decided(step: Step, client: LlamaClient, scale: float, tries: int = 3) -> list[Check]:
    """Played until no check is open, at most as often as the engine repeats a run on a noisy machine."""
    for _ in range(tries):
        checks = step.grade(play(step, FakePlay(client, scale)))
        if all(check.verdict is not Verdict.INCONCLUSIVE for check in checks):
            break
    return checks


@pytest.mark.parametrize("step", all_steps().values(), ids=lambda step: step.key)
def test_model_answers_pass(servers: dict[float, FakeServer], step: Step) -> None:
    scale = BY_THE_WALL.get(step.key, QUICK)
    with LlamaClient(servers[scale].base_url) as client:
        checks = decided(step, client, scale)
    assert checks
    assert {check.key: str(check.reason) for check in checks if check.verdict is not Verdict.PASS} == {}


def test_the_same_text_right_after_a_classmate_is_as_cold(servers: dict[float, FakeServer]) -> None:
    """The same inputs and answers, on the same server, one after the other: what the first left in the slots changes
    no verdict of the second."""
    step = all_steps()["cache-break"]
    with LlamaClient(servers[QUICK].base_url) as client:
        for _classmate in range(2):
            checks = decided(step, client, QUICK)
            assert {check.verdict for check in checks} == {Verdict.PASS}
