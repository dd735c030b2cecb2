"""What a lab step is. A step is one file in this folder, found by being there; nothing else names it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from django import forms
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext_lazy as _

from labs.grading.checks import Check, Verdict
from labs.grading.limits import Limit, Limits, points_limit, weighed
from labs.measure.plan import Plan
from labs.measure.recording import RunRecord
from labs.text import Json, Text

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# What the page of an attempt draws from its recordings, beside the waterfall and the replay that every step has.
# diff: prompts that followed one another in a slot. cost: TTFT against prompt tokens. reuse: cold and warm requests.
# slots: who was where and when. voice: when the mouth opens.
Drawing = Literal["diff", "cost", "reuse", "slots", "voice"]

# Longer than any honest answer; what is longer is not even shown again.
LONGEST_ANSWER = 100_000


@dataclass(frozen=True, slots=True)
class RoundSeen:
    """A locked round. `run` is None until its run is accepted, and for a round that sends nothing."""

    key: str
    challenge: Json
    answers: Json
    run: RunRecord | None = None


class Seen(dict[str, RoundSeen]):
    """The rounds locked so far, by key, in order. `limits` are the course's, where it has set any."""

    limits: Limits = {}

    def run_of(self, key: str) -> RunRecord:
        """The run of a round that must have been recorded before a later one opened. Raises ValueError."""
        run = self[key].run
        if run is None:
            raise ValueError(f"round {key!r} has no accepted run")
        return run


@dataclass(frozen=True, slots=True)
class Exhibit:
    """Something a round's form asks about, shown above it: a prompt, a piece of code, or a table of figures."""

    title: StrOrPromise
    kind: Literal["prompt", "code", "table"]
    text: str = ""
    head: Sequence[StrOrPromise] = ()
    rows: Sequence[Sequence[StrOrPromise | int | float | None]] = ()
    note: StrOrPromise = ""


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
        self._unstorable: dict[str, StrOrPromise] = {}
        super().__init__(None if data is None else self._storable(data))
        self.build()

    def build(self) -> None:
        """Adds the fields that depend on the challenge."""

    def clean(self) -> Json:
        cleaned = super().clean() or self.cleaned_data
        for name, problem in self._unstorable.items():
            self.add_error(name if name in self.fields else None, problem)
        return cleaned

    def _storable(self, data: Mapping[str, Any]) -> MultiValueDict[str, Any]:
        """The post with everything that no database or page can carry replaced, and noted for `clean`.

        A lone surrogate cannot be encoded, so the form could not even be shown again with it; a NUL cannot be
        stored on Postgres.
        """
        lists = data.lists() if isinstance(data, MultiValueDict) else data.items()
        kept: MultiValueDict[str, Any] = MultiValueDict()
        for name, value in lists:
            values = list(value) if isinstance(value, list | tuple) else [value]
            kept.setlist(name, [self._readable(name, one) for one in values])
        return kept

    def _readable(self, name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if len(value) > LONGEST_ANSWER:
            self._unstorable[name] = _("This answer is far too long.")
            value = value[:LONGEST_ANSWER]
        readable = "".join("\ufffd" if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in value)
        if readable != value:
            self._unstorable[name] = _("This answer holds a character that is no text. Type it again.")
        return readable

    def answers(self) -> Json:
        """The locked answers, plain JSON. Only after `is_valid()`."""
        return dict(self.cleaned_data)


class Round:
    """One form and the plan that follows from it. A round whose plan is None is graded without a run."""

    key: ClassVar[str]
    title: ClassVar[Text]
    Form: ClassVar[type[StepForm]]
    # Names of answers that the form of the student's next attempt begins with.
    keeps: ClassVar[frozenset[str]] = frozenset()

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        """This student's own inputs, drawn from `rng` (seeded per student, step and charged attempt)."""
        return {}

    def tokenise(self, challenge: Json) -> Mapping[str, Sequence[Mapping[str, str]]]:
        """Messages that the form needs as tokens, by name."""
        return {}

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        """What the form asks about. Never holds the answer itself."""
        return ()

    def files(self, challenge: Json, seen: Seen) -> Mapping[str, str]:
        """What the round hands out for a terminal, by file name."""
        return {}

    def sample(
        self, challenge: Json, seen: Seen, tokens: Mapping[str, Sequence[Json]] | None = None
    ) -> Mapping[str, Any]:
        """The post of a student who understood: what the form takes, and what earns every point."""
        return {}

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan | None:
        """What to ask of the server; None for a round that is graded without a run."""
        return None

    def predicted_prefix(self, seen: Seen) -> Mapping[str, int]:
        """By ask: how many tokens of its prompt the student said would come from the cache. Drawn in the diff."""
        return {}

    def predicted_ttft_ms(self, seen: Seen) -> Mapping[str, float]:
        """By ask: the TTFT that the student said. Drawn in the plot of TTFT against prompt tokens."""
        return {}

    def grade(self, seen: Seen) -> Iterator[Check]:
        """Pure. `seen` ends with this round, its run included. Yields this round's checks."""
        return iter(())


@dataclass(frozen=True, slots=True)
class Example:
    """A worked case that the generic step test grades. `seen()` builds it; `verdicts` are the claimed ones by check.

    `kind`: 'pass'; 'fail' differs from the pass example in the answers alone; 'inconclusive' in the server alone.
    """

    name: str
    kind: Literal["pass", "fail", "inconclusive"]
    seen: Callable[[], Seen]
    verdicts: Mapping[str, Verdict]


@dataclass(frozen=True, slots=True)
class Score:
    """One attempt on one board (labs.boards names them). `value` is what the board shows, `detail` its other columns;
    `run` is where it was measured, which says with whom it may be compared."""

    board: str
    value: float
    detail: Json
    run: RunRecord


class Rerun:
    """The stored answers of a class, executed again on inputs drawn fresh, in an instructor's own browser (lab.md 2).

    It shows where the code does not give what its verdict says. It flags, and changes no grade.
    """

    # The round that stores what is executed, and the name of that answer.
    round: ClassVar[str]
    answer: ClassVar[str]
    # A bundle under static/ that executes it.
    bundle: ClassVar[str]

    def inputs(self, rng: random.Random) -> Json:
        """What the code reads, drawn as a challenge is."""
        raise NotImplementedError

    def checks(self, inputs: Json, answer: str, results: str) -> Sequence[Check]:
        """What a run of `answer` on `inputs` gave, judged as a student's own. Raises ValueError where `results` are
        none."""
        raise NotImplementedError

    def shape(self, answer: str) -> str:
        """Equal for answers that are alike up to names; "" for what cannot be read. Executes nothing."""
        raise NotImplementedError


class Step:
    key: ClassVar[str]
    order: ClassVar[int]
    points: ClassVar[int]
    # What its checks can give on top of `points`.
    bonus: ClassVar[int] = 0
    version: ClassVar[int] = 1
    title: ClassVar[Text]
    goal: ClassVar[Text]
    rounds: ClassVar[Sequence[Round]]
    # Names of canaries that must be green on an endpoint before this step may run there.
    needs: ClassVar[frozenset[str]] = frozenset()
    # Keys of steps that a student must have tried before.
    requires: ClassVar[frozenset[str]] = frozenset()
    # What one clean pass of all rounds may cost the server (lab.md, 'A budget of machine time').
    budget_ms: ClassVar[int]
    shows: ClassVar[frozenset[Drawing]] = frozenset()
    # Numbers of its rules that a course may set otherwise.
    limits: ClassVar[Sequence[Limit]] = ()
    # A bundle under static/ that its page loads beside the lab's own script, and that may run Python in the browser.
    bundle: ClassVar[str] = ""
    rerun: ClassVar[Rerun | None] = None

    def round(self, key: str) -> Round:
        """Raises KeyError."""
        return next((r for r in self.rounds if r.key == key), None) or _missing(key)

    def grade(self, seen: Seen, limits: Limits | None = None) -> list[Check]:
        """All checks of the rounds seen so far. Pure: a regrade calls this again and executes nothing."""
        checks: list[Check] = []
        upto = Seen()
        upto.limits = limits or {}
        for round_ in self.rounds:
            if round_.key not in seen:
                break
            upto[round_.key] = seen[round_.key]
            checks.extend(round_.grade(upto))
        return weighed(checks, upto.limits)

    def all_limits(self) -> list[Limit]:
        """Its own limits and the points of each of its checks, as its worked example shows them."""
        whole = next((example for example in self.examples() if example.kind == "pass"), None)
        checks = self.grade(whole.seen()) if whole is not None else []
        most = self.points + self.bonus
        return [*self.limits, *(points_limit(check, most) for check in checks if check.points)]

    def scores(self, seen: Seen) -> Iterator[Score]:
        """What a whole attempt puts on the class's boards; nothing where the server was not sane. Pure."""
        return iter(())

    def examples(self) -> Sequence[Example]:
        return ()


def _missing(key: str) -> Round:
    raise KeyError(key)
