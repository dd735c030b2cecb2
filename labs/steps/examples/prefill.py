"""Worked cases of `prefill`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labs.grading.checks import Verdict
from labs.steps import recorded
from labs.steps.base import Example, Step
from labs.steps.examples import played, with_verdict
from labs.steps.examples.server import SANE, ModelServer
from labs.steps.sizes import messages_of
from labs.text import Json

KEYS = ("guessed", "line", "prediction", "measured", "per-document", "why")
PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def tripled_ms(_right_ms: float, challenge: Json) -> float:
    """Three times the TTFT that the sane model has with four documents."""
    read_us, _write_us = SANE.us_per_token
    return 3 * (4 + len(SANE.pieces(messages_of(challenge, 4))) * read_us / 1000)


def examples(step: Step) -> Sequence[Example]:
    def fails(name: str, answers: Any, **verdicts: Verdict) -> Example:
        return played(step, name, "fail", with_verdict(KEYS, PASS, **verdicts), answers=answers)

    def sick(name: str, server: ModelServer, **verdicts: Verdict) -> Example:
        return played(
            step, name, "inconclusive", with_verdict(KEYS, OPEN, why=PASS, **verdicts), server=server
        )

    return [
        played(step, "model answers", "pass", with_verdict(KEYS, PASS)),
        fails("multiplied by the number of documents", {"large": {"twelve_ms": tripled_ms}}, prediction=FAIL),
        fails(
            "the documents alone, without what is there once",
            {"large": {"twelve_ms": lambda ms, _c: ms * 0.8}},
            prediction=FAIL,
        ),
        fails(
            "the whole TTFT divided by the documents",
            {"explain": {"per_document_ms": lambda ms, _c: ms * 1.2, "why": "nothing"}},
            per_document=FAIL,
            why=FAIL,
        ),
        sick(
            "twice as slow as it is known to be",
            ModelServer(us_per_token=(9_000, 9_000)),
            guessed=PASS,
            measured=PASS,
            per_document=PASS,
        ),
        sick("no visible text", ModelServer(writes_text=False)),
        sick("a stranger on the server", ModelServer(stranger=True)),
        sick("no /slots", ModelServer(has_slots=False)),
        *recorded.examples(step.key),
    ]
