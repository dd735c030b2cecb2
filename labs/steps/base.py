"""What a lab step is. A step is one file in this folder, found by being there; nothing else names it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django import forms

from labs.grading.checks import Check, Verdict
from labs.measure.plan import Plan
from labs.measure.recording import RunRecord
from labs.text import Json, Text


@dataclass(frozen=True, slots=True)
class RoundSeen:
    """A locked round. `run` is None until its run is accepted, and for a round that sends nothing."""

    key: str
    challenge: Json
    answers: Json
    run: RunRecord | None = None


class Seen(dict[str, RoundSeen]):
    """The rounds locked so far, by key, in order."""


class StepForm(forms.Form):
    """Base of every round's form. `challenge` is what this student was shown; `tokens` what it tokenises to.

    `tokens` maps a name asked for in `Round.tokenise` to [{"id": int, "text": str}] and is empty while the
    server cannot be asked; a field that needs it then falls back to a plain number.
    """

    def __init__(
        self,
        data: Mapping[str, Any] | None = None,
        *,
        challenge: Json,
        seen: Seen,
        tokens: Mapping[str, Sequence[Json]] | None = None,
    ) -> None:
        self.challenge = challenge
        self.seen = seen
        self.tokens = tokens or {}
        super().__init__(data)
        self.build()

    def build(self) -> None:
        """Adds the fields that depend on the challenge."""

    def answers(self) -> Json:
        """The locked answers, plain JSON. Only after `is_valid()`."""
        return dict(self.cleaned_data)


class Round:
    """One form and the plan that follows from it. A round whose plan is None is graded without a run."""

    key: ClassVar[str]
    title: ClassVar[Text]
    Form: ClassVar[type[StepForm]]

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        """This student's own inputs, drawn from `rng` (seeded per student, step and charged attempt)."""
        return {}

    def tokenise(self, challenge: Json) -> Mapping[str, Sequence[Mapping[str, str]]]:
        """Messages that the form needs as tokens, by name."""
        return {}

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan | None:
        return None

    def grade(self, seen: Seen) -> Iterator[Check]:
        """Pure. `seen` ends with this round, its run included. Yields this round's checks."""
        return iter(())


@dataclass(frozen=True, slots=True)
class Example:
    """A worked case that the generic step test grades: `seen()` builds it, `verdicts` are the claimed ones by check key.

    `kind`: 'pass'; 'fail' differs from the pass example in the answers alone; 'inconclusive' in the server alone.
    """

    name: str
    kind: str
    seen: Callable[[], Seen]
    verdicts: Mapping[str, Verdict]


class Step:
    key: ClassVar[str]
    order: ClassVar[int]
    points: ClassVar[int]
    version: ClassVar[int] = 1
    title: ClassVar[Text]
    goal: ClassVar[Text]
    rounds: ClassVar[Sequence[Round]]
    # Names of canaries that must be green on an endpoint before this step may run there.
    needs: ClassVar[frozenset[str]] = frozenset()

    def round(self, key: str) -> Round:
        """Raises KeyError."""
        return next((r for r in self.rounds if r.key == key), None) or _missing(key)

    def grade(self, seen: Seen) -> list[Check]:
        """All checks of the rounds seen so far. Pure: a regrade calls this again and executes nothing."""
        checks: list[Check] = []
        upto = Seen()
        for round_ in self.rounds:
            if round_.key not in seen:
                break
            upto[round_.key] = seen[round_.key]
            checks.extend(round_.grade(upto))
        return checks

    def examples(self) -> Sequence[Example]:
        return ()


def _missing(key: str) -> Round:
    raise KeyError(key)
