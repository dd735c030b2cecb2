"""Worked cases of `first-sentence`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labs.grading.checks import Verdict
from labs.steps import recorded
from labs.steps.base import Example, Step
from labs.steps.examples import played, with_verdict
from labs.steps.examples.server import ModelServer
from labs.text import Json

KEYS = (
    "guessed",
    "mark-decimal",
    "mark-abbreviation",
    "mark-list",
    "mark-korean",
    "mark-own",
    "blank",
    "still-cuts",
    "cap",
    "clip",
)
PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def examples(step: Step) -> Sequence[Example]:
    def fails(name: str, answers: Any, **verdicts: Verdict) -> Example:
        return played(step, name, "fail", with_verdict(KEYS, PASS, **verdicts), answers=answers)

    def sick(name: str, server: ModelServer, **verdicts: Verdict) -> Example:
        return played(step, name, "inconclusive", with_verdict(KEYS, PASS, **verdicts), server=server)

    return [
        played(step, "model answers", "pass", with_verdict(KEYS, PASS)),
        fails(
            "the handout's rule by hand",
            {"mark": {"mark_abbreviation": _behind("m."), "mark_list": 1, "still_cut": ["decimal"]}},
            mark_abbreviation=FAIL,
            mark_list=FAIL,
            still_cuts=FAIL,
        ),
        fails(
            "speaks at every dot",
            {"mark": {"mark_decimal": _behind("."), "mark_korean": 0, "mark_own": 0, "blank": "pause"}},
            mark_decimal=FAIL,
            mark_korean=FAIL,
            mark_own=FAIL,
            blank=FAIL,
        ),
        fails("a cap that cuts the first sentence", {"cap": {"cap": 8}}, cap=FAIL),
        fails("a cap and a clip that let it run on", {"cap": {"cap": 64, "clip": 4}}, cap=FAIL, clip=FAIL),
        sick("no visible text", ModelServer(writes_text=False), guessed=OPEN, mark_own=OPEN, cap=OPEN),
        sick("no sentence ends", ModelServer(ends_sentences=False), guessed=OPEN, mark_own=OPEN, cap=OPEN),
        sick("a stranger on the server", ModelServer(stranger=True), guessed=OPEN),
        *recorded.examples(step.key),
    ]


def _behind(stop: str) -> Any:
    """A mark right behind the first `stop` of the text, where its sentence goes on."""

    def mark(_right: int, challenge: Json) -> int:
        name = "decimal" if stop == "." else "abbreviation"
        place: int = challenge["texts"][name].index(stop)
        return place + len(stop)

    return mark
