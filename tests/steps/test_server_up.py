"""What `server-up` promises beyond the generic test."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from labs.grading.checks import Verdict
from labs.measure.plan import Get, Plan
from labs.steps.base import Seen
from labs.steps.examples import play
from labs.steps.examples.server import FACTS
from labs.steps.server_up import ServerUp
from tests.steps.playing import check, with_recordings

STEP = ServerUp()
PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def test_nothing_is_computed() -> None:
    seen = play(STEP, rounds=1)
    plan = STEP.round("look").plan(seen["look"].challenge, seen["look"].answers, Seen())
    assert plan == Plan((Get("health", "health"), Get("props", "props"), Get("slots", "slots")))
    assert plan.server_ms() == 0


@pytest.mark.parametrize("held_too", [True, False])
def test_the_whole_context_is_named_as_what_was_counted(held_too: bool) -> None:
    def whole(_right: int, _challenge: Any) -> int:
        return FACTS.n_ctx * FACTS.slots - (play(STEP)["look"].challenge["held"] if held_too else 0)

    found = check(STEP, play(STEP, answers={"read": {"more_tokens": whole}}), "share")
    assert found.verdict is FAIL
    assert "whole server" in str(found.reason)


def test_the_questions_are_not_copies_of_what_is_shown() -> None:
    seen = play(STEP)
    shown = "".join(exhibit.text for exhibit in STEP.round("read").exhibits({}, Seen({"look": seen["look"]})))
    sample = STEP.round("read").sample({}, Seen({"look": seen["look"]}))
    assert str(sample["more_tokens"]) not in shown
    assert str(sample["waiting"]) not in shown


@pytest.mark.parametrize(
    ("get", "body"),
    [
        ("health", '{"error":{"message":"Loading model","type":"unavailable_error","code":503}}'),
        ("health", ""),
        ("props", "<html>"),
        ("props", "[]"),
        ("slots", '{"error":{"code":501}}'),
        ("slots", "[]"),
        ("slots", "not json"),
        ("slots", json.dumps([{"id": 0, "n_ctx": 4096, "is_processing": False}])),
        ("slots", json.dumps([{"id": i, "n_ctx": 8192, "is_processing": False} for i in range(2)])),
    ],
)
def test_a_server_that_does_not_say_or_contradicts_itself_fails_nobody(get: str, body: str) -> None:
    seen = play(STEP)
    seen = with_recordings(seen, "look", replace(seen.run_of("look")[get], body=body))
    verdicts = {found.key: found.verdict for found in STEP.grade(seen)}
    assert verdicts == {
        **dict.fromkeys(("saved", "share", "waiting"), OPEN),
        **dict.fromkeys(("loading", "flag", "limit"), PASS),
    }
