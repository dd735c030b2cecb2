"""Worked cases of `first-token`."""

from __future__ import annotations

from collections.abc import Sequence

from labs.grading.checks import Verdict
from labs.steps import recorded
from labs.steps.base import Example, Step
from labs.steps.examples import played, with_verdict
from labs.steps.examples.server import ModelServer
from labs.steps.widgets import NONE_OF_THESE

KEYS = ("predicted", "frame", "too-short", "queued", "wait", "prefill", "rest", "unknown")
PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def examples(step: Step) -> Sequence[Example]:
    return [
        played(step, "model answers", "pass", with_verdict(KEYS, PASS)),
        played(
            step,
            "role frame taken for the first token",
            "fail",
            with_verdict(KEYS, PASS, frame=FAIL, too_short=FAIL),
            answers={"mark": {"frame": 0, "too_short_ms": 0}},
        ),
        played(
            step,
            "none of these, and the TTFT itstep as the difference",
            "fail",
            with_verdict(KEYS, PASS, frame=FAIL, too_short=FAIL),
            answers={"mark": {"frame": NONE_OF_THESE, "too_short_ms": lambda ms, _challenge: ms + 3.1}},
        ),
        played(
            step,
            "wait and prefill swapped, prefill blamed",
            "fail",
            with_verdict(KEYS, PASS, wait=FAIL, prefill=FAIL, rest=FAIL, unknown=FAIL),
            answers={
                "split": {
                    "wait_ms": lambda ms, _challenge: ms * 0.7,
                    "prefill_ms": lambda ms, _challenge: ms * 1.3,
                    "rest_ms": lambda ms, _challenge: ms + 40,
                    "unknown": "prefill",
                }
            },
        ),
        played(
            step,
            "no visible text",
            "inconclusive",
            with_verdict(KEYS, OPEN),
            server=ModelServer(writes_text=False),
        ),
        played(
            step,
            "the second request did not wait",
            "inconclusive",
            with_verdict(KEYS, OPEN, predicted=PASS, frame=PASS, too_short=PASS),
            server=ModelServer(queues=False),
        ),
        played(
            step,
            "a stranger on the server",
            "inconclusive",
            with_verdict(KEYS, OPEN, frame=PASS, too_short=PASS),
            server=ModelServer(stranger=True),
        ),
        played(
            step,
            "no /slots",
            "inconclusive",
            with_verdict(KEYS, OPEN, frame=PASS, too_short=PASS),
            server=ModelServer(has_slots=False),
        ),
        *recorded.examples(step.key),
    ]
