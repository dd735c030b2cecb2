"""A step of two rounds whose verdicts the test dictates, so that the engine is tested apart from the lab."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms

from labs.grading.checks import Check, Verdict
from labs.measure.outcome import Drive
from labs.measure.plan import Ask, Plan
from labs.measure.recording import Figures, Recording, RunRecord
from labs.steps.base import Round, Seen, Step, StepForm
from labs.text import N_


class ToyForm(StepForm):
    say = forms.CharField(max_length=100_000)


class ToyRound(Round):
    title = N_("Toy")
    Form = ToyForm

    def __init__(self, key: str) -> None:
        self.key = key  # type: ignore[misc]  # one class, two rounds

    def challenge(self, rng: Any, seen: Seen) -> dict[str, Any]:
        return {"drawn": rng.random()}

    def plan(self, challenge: Any, answers: Any, seen: Seen) -> Plan:
        return Plan(
            items=(Ask(key="one", messages=({"role": "user", "content": answers["say"]},), max_tokens=8),)
        )

    def grade(self, seen: Seen) -> Iterator[Check]:
        run = seen[self.key].run
        text = run["one"].figures.text if run and "one" in run.recordings else ""
        if text == "crash":
            raise RuntimeError("the grader is broken")
        verdict = {"sick": Verdict.INCONCLUSIVE, "wrong": Verdict.FAIL}.get(text, Verdict.PASS)
        yield Check(
            f"{self.key}-check", self.key, N_("Toy"), 5, verdict, N_("Because."), {"saw": {"text": text}}
        )


class ToyStep(Step):
    key = "toy"
    order = 99
    points = 10
    title = N_("Toy")
    goal = N_("Toy")
    rounds = (ToyRound("one"), ToyRound("two"))


def drive(
    outcome: str = "recorded", text: str = "right", reason: str = "", *, token_seen: bool = True
) -> Drive:
    first_token_us = 1000 if token_seen else None
    figures = Figures(end="done", text=text, first_token_us=first_token_us)
    recording = Recording(key="one", kind="ask", figures=figures)
    return Drive(
        record=RunRecord(recordings={"one": recording}),
        outcome=outcome,  # type: ignore[arg-type]
        reason=reason,  # type: ignore[arg-type]
    )
