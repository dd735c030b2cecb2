"""Worked cases of `barge-in`."""

from __future__ import annotations

from collections.abc import Sequence

from labs.grading.checks import Verdict
from labs.steps import recorded
from labs.steps.base import Example, Step
from labs.steps.examples import played, with_verdict
from labs.steps.examples.server import ModelServer

KEYS = ("cut-writing", "cut-reading", "saved", "stop-break", "stop-stall", "stop-close", "stop-leave")
PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def examples(step: Step) -> Sequence[Example]:
    return [
        played(step, "model answers", "pass", with_verdict(KEYS, PASS)),
        played(
            step,
            "everything stops it",
            "fail",
            with_verdict(KEYS, PASS, stop_break=FAIL, stop_stall=FAIL),
            answers={"stop": {"stops": ["break", "stall", "close", "leave"]}},
        ),
        played(
            step,
            "only break stops it",
            "fail",
            with_verdict(KEYS, PASS, stop_break=FAIL, stop_close=FAIL, stop_leave=FAIL),
            answers={"stop": {"stops": ["break"]}},
        ),
        played(
            step,
            "written taken for saved",
            "fail",
            with_verdict(KEYS, PASS, saved=FAIL),
            answers={"stop": {"saved_tokens": lambda saved, _c: 200 - saved}},
        ),
        played(
            step,
            "a server that ignores the close",
            "inconclusive",
            with_verdict(KEYS, OPEN),
            server=ModelServer(notices_close=False),
        ),
        played(
            step, "no /slots", "inconclusive", with_verdict(KEYS, OPEN), server=ModelServer(has_slots=False)
        ),
        played(
            step,
            "a stranger on the server",
            "inconclusive",
            with_verdict(KEYS, OPEN),
            server=ModelServer(stranger=True),
        ),
        *recorded.examples(step.key),
    ]
