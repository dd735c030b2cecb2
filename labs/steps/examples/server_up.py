"""Worked cases of `server-up`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labs.grading.checks import Verdict
from labs.steps import recorded
from labs.steps.base import Example, Step
from labs.steps.examples import played, with_verdict
from labs.steps.examples.server import FACTS, ModelServer

KEYS = ("saved", "share", "waiting", "loading", "flag", "limit")
PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def examples(step: Step) -> Sequence[Example]:
    def fails(name: str, answers: Any, **verdicts: Verdict) -> Example:
        return played(step, name, "fail", with_verdict(KEYS, PASS, **verdicts), answers={"read": answers})

    return [
        played(step, "model answers", "pass", with_verdict(KEYS, PASS)),
        fails(
            "the whole server's context taken for one conversation's",
            {"more_tokens": lambda more, _c: more + FACTS.n_ctx * (FACTS.slots - 1)},
            share=FAIL,
        ),
        fails(
            "what is held not subtracted, and the slots taken for those who wait",
            {"more_tokens": FACTS.n_ctx, "waiting": FACTS.slots},
            share=FAIL,
            waiting=FAIL,
        ),
        fails("loading taken for a failure", {"loading": "broken"}, loading=FAIL),
        fails("loading taken for being ready", {"loading": "ok"}, loading=FAIL),
        fails("another flag, in GiB", {"flag": "cache-reuse", "limit_mib": 8}, flag=FAIL, limit=FAIL),
        played(
            step,
            "no /slots",
            "inconclusive",
            with_verdict(KEYS, PASS, saved=OPEN, share=OPEN, waiting=OPEN),
            server=ModelServer(has_slots=False),
        ),
        *recorded.examples(step.key),
    ]
