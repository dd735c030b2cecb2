"""Worked cases of `voice-turn`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labs.grading.checks import Verdict
from labs.steps import recorded, talk
from labs.steps.base import Example, Step
from labs.steps.examples import played, with_verdict
from labs.steps.examples.server import ModelServer
from labs.text import Json

KEYS = ("guessed", "valid", "half", "sentence", "mouth")
PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE
STYLE, DOCS, EARLIER, CLOCK, QUESTION = talk.BLOCKS


def examples(step: Step) -> Sequence[Example]:
    def fails(name: str, answers: Any, **verdicts: Verdict) -> Example:
        return played(step, name, "fail", with_verdict(KEYS, PASS, **verdicts), answers=answers)

    def sick(name: str, server: ModelServer, **verdicts: Verdict) -> Example:
        return played(step, name, "inconclusive", with_verdict(KEYS, PASS, **verdicts), server=server)

    return [
        played(step, "model answers", "pass", with_verdict(KEYS, PASS)),
        fails("the reference layout itself", {"design": {"order": _order(talk.REFERENCE_ORDER)}}, half=FAIL),
        fails(
            "the clock in front of the documents",
            {"design": {"order": _order((STYLE, CLOCK, DOCS, EARLIER, QUESTION))}},
            half=FAIL,
        ),
        fails(
            "all documents behind the clock",
            {"design": {"order": _order((STYLE, EARLIER, CLOCK, DOCS, QUESTION))}},
            half=FAIL,
        ),
        fails(
            "no document that the third turn needs",
            {"design": {"riding": _without_third}},
            valid=FAIL,
            half=FAIL,
        ),
        fails("a cap that no sentence fits", {"design": {"max_tokens": 8}}, sentence=FAIL),
        fails(
            "all prompt tokens taken for computed",
            {"mouth": {"mouth_ms": lambda ms, _c: ms + 900}},
            mouth=FAIL,
        ),
        sick("no sentence ends", ModelServer(ends_sentences=False), sentence=OPEN),
        sick("the cache does nothing", ModelServer(reuses=False), guessed=OPEN, half=OPEN),
        sick("no /slots", ModelServer(has_slots=False), guessed=OPEN, half=OPEN),
        sick(
            "a stranger on the server",
            ModelServer(stranger=True),
            guessed=OPEN,
            half=OPEN,
            sentence=OPEN,
            mouth=OPEN,
        ),
        *recorded.examples(step.key),
    ]


def _order(blocks: Sequence[str]) -> str:
    return ",".join(blocks)


def _without_third(riding: Sequence[str], challenge: Json) -> list[str]:
    needed = talk.Talk.of(challenge).needed(3)
    return [one for one in riding if one != f"3:{needed}"]
