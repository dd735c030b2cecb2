"""Worked cases of `cache-break`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labs.grading.checks import Verdict
from labs.steps import blocks, recorded
from labs.steps.base import Example, Step
from labs.steps.examples import played, with_verdict
from labs.steps.examples.server import ModelServer

KEYS = ("prediction", "break", "own-figures", "repaired")
PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def examples(step: Step) -> Sequence[Example]:
    def fails(name: str, answers: Any, **verdicts: Verdict) -> Example:
        return played(step, name, "fail", with_verdict(KEYS, PASS, **verdicts), answers=answers)

    def sick(name: str, server: ModelServer) -> Example:
        expected = with_verdict(KEYS, OPEN, prediction=PASS)
        return played(step, name, "inconclusive", expected, server=server)

    front = ",".join(blocks.PLACES["front"])
    in_the_middle = "rule,documents-1,clock,documents-2,question"
    return [
        played(step, "model answers", "pass", with_verdict(KEYS, PASS)),
        fails("wrong token picked", {"guess": {"pick_front": lambda pick, _c: pick + 40}}, prediction=FAIL),
        fails(
            "sent again identical",
            {"guess": {"second_clock": lambda _v, challenge: challenge["clock"]}},
            prediction=FAIL,
            **{"break": FAIL},
        ),
        fails(
            "edited only at the tail",
            {"guess": {"place": "end", "pick_end": 100}},
            prediction=FAIL,
            **{"break": FAIL},
        ),
        fails(
            "edited between documents and question",
            {"guess": {"place": "between", "pick_between": 100}},
            prediction=FAIL,
            **{"break": FAIL},
        ),
        fails(
            "own figures not subtracted",
            {"repair": {"more_computed": lambda more, _c: more + 1}},
            own_figures=FAIL,
        ),
        fails("clock still in front", {"repair": {"order": front}}, repaired=FAIL),
        fails("clock among the documents", {"repair": {"order": in_the_middle}}, repaired=FAIL),
        sick("no reuse on this server", ModelServer(reuses=False)),
        sick("no reuse and no /metrics", ModelServer(reuses=False, has_metrics=False)),
        sick("a hidden host cache", ModelServer(remembers_all=True)),
        sick("a stranger between", ModelServer(stranger=True)),
        sick("no /slots", ModelServer(has_slots=False)),
        *recorded.examples(step.key),
    ]
