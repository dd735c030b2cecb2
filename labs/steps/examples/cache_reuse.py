"""Worked cases of `cache-reuse`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labs.grading.checks import Verdict
from labs.steps import recorded
from labs.steps.base import Example, Step
from labs.steps.examples import played, with_verdict
from labs.steps.examples.server import ModelServer

KEYS = ("predicted", "why", "emptied", "more", "where")
PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def examples(step: Step) -> Sequence[Example]:
    def fails(name: str, answers: Any, **verdicts: Verdict) -> Example:
        return played(step, name, "fail", with_verdict(KEYS, PASS, **verdicts), answers=answers)

    def sick(name: str, server: ModelServer, **verdicts: Verdict) -> Example:
        return played(
            step, name, "inconclusive", with_verdict(KEYS, OPEN, where=PASS, **verdicts), server=server
        )

    return [
        played(step, "model answers", "pass", with_verdict(KEYS, PASS)),
        fails("one token after the emptying too", {"emptied": {"after_prompt_n": 1}}, emptied=FAIL),
        fails(
            "the template's head still there after the emptying",
            {"emptied": {"after_prompt_n": lambda n, _c: n - 24}},
            emptied=FAIL,
        ),
        fails("one token as a test of the cache", {"emptied": {"why": "check"}}, why=FAIL),
        fails(
            "not subtracted, and the slot blamed",
            {"explain": {"more_computed": lambda more, _c: more + 1, "where": "slot"}},
            more=FAIL,
            where=FAIL,
        ),
        sick("no --slot-save-path", ModelServer(can_erase=False), predicted=PASS, why=PASS),
        sick("no reuse on this server", ModelServer(reuses=False)),
        sick("no reuse and no /metrics", ModelServer(reuses=False, has_metrics=False)),
        sick("a hidden host cache", ModelServer(remembers_all=True)),
        sick("a stranger between", ModelServer(stranger=True)),
        sick("no /slots", ModelServer(has_slots=False)),
        *recorded.examples(step.key),
    ]
