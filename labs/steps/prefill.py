"""Step 4: what does a document cost? TTFT grows with the prompt tokens that are computed (lab.md 4).

Every ask has the cache off. A run has one lab line for all its asks, so behind it only the first repeat would be
cold; with the cache off every repeat computes its whole prompt, which the server's counter shows exactly
(`cache_n` 0, DESIGN 6.2), and no letters are needed that the prompts do not have in real life.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from labs.grading.checks import Check
from labs.grading.limits import Limit
from labs.grading.line import (
    NOT_SLOWER,
    PREDICTION_SHARE,
    crooked,
    fastest_ms,
    figures_of,
    line_through,
    measured_fault,
    near,
    points,
    why_off,
)
from labs.grading.sane import first_fault
from labs.measure.plan import Ask, Note, Plan
from labs.steps import corpus, sizes, tables
from labs.steps.base import Example, Exhibit, Round, Score, Seen, Step, StepForm
from labs.steps.claims import prefill as claims
from labs.steps.fields import MsField, OneOf
from labs.steps.prompts import as_text
from labs.steps.sizes import (
    LARGE,
    LARGE_KEYS,
    OWN,
    SMALL,
    messages_of,
    repeats,
    small_keys,
    some,
    spare_keys,
)
from labs.steps.tables import in_ms
from labs.text import N_, Json

PREDICTED = Limit(
    "predicted-percent",
    N_("How far a predicted TTFT may be off"),
    "percent",
    round(100 * PREDICTION_SHARE),
    1,
    100,
)
COST = Limit("cost-percent", N_("How far the cost of a document may be off"), "percent", 10, 1, 100)


class SmallForm(StepForm):
    def build(self) -> None:
        for count, name in ((0, "none_ms"), (4, "four_ms")):
            self.fields[name] = MsField(
                label=_("%(documents)s: after how many milliseconds does the first text arrive?")
                % {"documents": sizes.size(count, self.tokens.get(str(count)))}
            )


class Small(Round):
    key, title, Form = "small", N_("No document, and four"), SmallForm

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        return {"documents": corpus.documents(rng, LARGE), "question": corpus.question(rng, SMALL[1])}

    def tokenise(self, challenge: Json) -> Mapping[str, Sequence[Mapping[str, str]]]:
        return sizes.tokenise(challenge, SMALL)

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        return [
            Exhibit(_("The prompt without a document"), "prompt", as_text(messages_of(challenge, 0))),
            Exhibit(_("The prompt with four documents"), "prompt", as_text(messages_of(challenge, 4))),
        ]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        return {"none_ms": "150", "four_ms": "800"}

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan:
        """Interleaved, so that a slow minute meets both sizes. The line goes through the fastest of each, so where
        times are noisy two more of each are worth their machine time."""
        more = Note("more", N_("The times differ too much: two more of each size."))
        return Plan(_in_turns(challenge, small_keys), spare=(more, *_in_turns(challenge, spare_keys)))

    def predicted_ttft_ms(self, seen: Seen) -> Mapping[str, float]:
        answers = seen[self.key].answers
        return {small_keys(0)[0]: answers["none_ms"], small_keys(4)[0]: answers["four_ms"]}

    def grade(self, seen: Seen) -> Iterator[Check]:
        run, answers = seen[self.key].run, seen[self.key].answers
        if run is None:
            return
        none, four = (repeats(run, count) for count in SMALL)
        fault, line = measured_fault(run, [*none, *four]), line_through(none, four)
        yield claims.GUESSED.settle(
            fault,
            True,
            N_(
                "You guessed %(none)s and %(four)s ms; the fastest runs took %(none_ms)s and %(four_ms)s ms.",
                none=answers["none_ms"],
                four=answers["four_ms"],
                none_ms=round(fastest_ms(none) or 0, 1),
                four_ms=round(fastest_ms(four) or 0, 1),
            ),
            N_("No guess was made."),
            {"saw": figures_of([*none, *four]), "rule": N_("guessed before the run").to_json()},
        )
        yield claims.LINE.settle(
            first_fault(fault, crooked(run, line)),
            True,
            N_(
                "The line through your two fastest runs rises by %(slope)s ms a token.",
                slope=round(line.slope, 2) if line else 0,
            ),
            N_("There is no line."),
            {
                "saw": {
                    "ms_per_token": line and round(line.slope, 3),
                    "known_ms_per_token": run.server.prompt_ms_per_token,
                    "repeats": len(four),
                },
                "rule": N_("0.7 to 1.5 times the endpoint's fastest ms a token").to_json(),
            },
        )


class LargeForm(StepForm):
    def build(self) -> None:
        self.fields["twelve_ms"] = MsField(
            label=_("%(documents)s: after how many milliseconds does the first text arrive?")
            % {"documents": self._size(LARGE)}
        )
        self.fields["own_documents"] = forms.TypedChoiceField(
            choices=[(str(count), self._size(count)) for count in OWN],
            coerce=int,
            label=_("A size of your own"),
            help_text=_("Run once and shown; not marked."),
            error_messages={"required": _("Choose a size.")},
        )
        self.fields["own_ms"] = MsField(
            label=_("Your size: after how many milliseconds does the first text arrive?")
        )

    def _size(self, count: int) -> Any:
        about = sizes.about_tokens(self.seen.run_of("small"), count)
        return sizes.size(count, self.tokens.get(str(count)), about)


class Large(Round):
    key, title, Form = "large", N_("Twelve documents, from what you saw"), LargeForm

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        return {name: seen["small"].challenge[name] for name in ("documents", "question")}

    def tokenise(self, challenge: Json) -> Mapping[str, Sequence[Mapping[str, str]]]:
        return sizes.tokenise(challenge, (*OWN, LARGE))

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        run = seen.run_of("small")
        return [tables.sizes([(count, ask) for count in SMALL for ask in repeats(run, count)])]

    def sample(
        self, challenge: Json, seen: Seen, tokens: Mapping[str, Sequence[Json]] | None = None
    ) -> Mapping[str, Any]:
        run = seen.run_of("small")
        none, four = (repeats(run, count) for count in SMALL)
        line = line_through(none, four)

        def at(count: int) -> float:
            n = len((tokens or {}).get(str(count), ())) or sizes.about_tokens(run, count)
            return max(round(line.at(n), 1), 0) if line else 2000

        return {"twelve_ms": at(LARGE), "own_documents": "8", "own_ms": at(8)}

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan:
        first, *more = (sizes.ask(challenge, key, LARGE) for key in LARGE_KEYS)
        return Plan((first, sizes.ask(challenge, "own", answers["own_documents"]), *more))

    def predicted_ttft_ms(self, seen: Seen) -> Mapping[str, float]:
        answers = seen[self.key].answers
        return {LARGE_KEYS[0]: answers["twelve_ms"], "own": answers["own_ms"]}

    def grade(self, seen: Seen) -> Iterator[Check]:
        run, answers, small = seen[self.key].run, seen[self.key].answers, seen.run_of("small")
        if run is None:
            return
        none, four = (repeats(small, count) for count in SMALL)
        twelve, own = some(run, LARGE_KEYS), run["own"]
        line, said_ms = line_through(none, four), answers["twelve_ms"]
        n, predicted_share = twelve[0].n, PREDICTED.of(seen.limits) / 100
        right_ms = line.at(n) if line else 0
        yield claims.PREDICTION.settle(
            first_fault(measured_fault(small, [*none, *four]), crooked(small, line)),
            near(said_ms, right_ms, predicted_share),
            N_(
                "You predicted %(said)s ms; the line through your two fastest runs gives %(right)s ms for %(n)s "
                "tokens.",
                said=said_ms,
                right=round(right_ms),
                n=n,
            ),
            why_off(said_ms, right_ms, LARGE // SMALL[1], [ms for _n, ms in points(four)]),
            {
                "saw": {"said_ms": said_ms, "line_ms": round(right_ms, 1), "n": n},
                "rule": N_("line through the two fastest runs of the first round, over prompt_n").to_json(),
                "limit": {"share": predicted_share},
                "control": figures_of([*none, *four]),
            },
        )
        fastest, own_ms = fastest_ms(twelve) or 0, in_ms(own.figures.ttft_us)
        went = N_(
            "12 documents: predicted %(said)s ms, the faster run took %(fastest)s ms. %(count)s documents: predicted "
            "%(own_said)s ms, measured %(own_ms)s ms.",
            said=said_ms,
            fastest=round(fastest, 1),
            count=answers["own_documents"],
            own_said=answers["own_ms"],
            own_ms=own_ms,
        )
        yield claims.MEASURED.settle(
            measured_fault(run, [*twelve, own]), True, went, went, {"saw": figures_of([*twelve, own])}
        )


class ExplainForm(StepForm):
    per_document_ms = MsField(
        label=_(
            "From the fastest runs with 4 and with 12 documents: how many milliseconds does one document cost?"
        )
    )
    why = OneOf(
        claims.REASONS,
        label=_(
            "Somebody takes the TTFT with 4 documents times three for 12 documents. What is wrong with that?"
        ),
    )


class Explain(Round):
    key, title, Form = "explain", N_("What a document costs"), ExplainForm

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        small, large = seen.run_of("small"), seen.run_of("large")
        rows = [(count, ask) for count in SMALL for ask in repeats(small, count)]
        rows += [(seen["large"].answers["own_documents"], large["own"])]
        return [tables.sizes([*rows, *((LARGE, large[key]) for key in LARGE_KEYS)])]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        return {"per_document_ms": max(round(_per_document_ms(seen), 1), 0), "why": "once"}

    def grade(self, seen: Seen) -> Iterator[Check]:
        answers, small, large = seen[self.key].answers, seen.run_of("small"), seen.run_of("large")
        four, twelve = repeats(small, SMALL[1]), some(large, LARGE_KEYS)
        said_ms, right_ms = answers["per_document_ms"], _per_document_ms(seen)
        cost_share = COST.of(seen.limits) / 100
        yield claims.PER_DOCUMENT.settle(
            first_fault(
                measured_fault(small, four),
                measured_fault(large, twelve),
                None if right_ms > 0 else NOT_SLOWER,
            ),
            near(said_ms, right_ms, cost_share),
            N_(
                "Right: one more document costs %(right)s ms before the first word.", right=round(right_ms, 1)
            ),
            N_(
                "You said %(said)s ms. Subtract the fastest run of 4 documents from that of 12, and divide by the 8 "
                "documents between them.",
                said=said_ms,
            ),
            {
                "saw": {
                    **figures_of([*four, *twelve]),
                    "said_ms": said_ms,
                    "per_document_ms": round(right_ms, 1),
                },
                "rule": N_("(fastest TTFT of 12 - fastest TTFT of 4) / 8").to_json(),
                "limit": {"share": cost_share},
            },
        )
        yield claims.WHY.settle(
            None,
            answers["why"] == "once",
            N_("Right: a prompt without documents has tokens too, and they are there once."),
            N_(
                "See the runs without a document: they took time as well. Choose the reason that tells how often a "
                "prompt has that part."
            ),
            {"saw": {"said": answers["why"]}, "rule": N_("TTFT = what is there once + documents").to_json()},
        )


def _in_turns(challenge: Json, keys: Callable[[int], Sequence[str]]) -> tuple[Ask, ...]:
    rows = zip(*(keys(count) for count in SMALL), strict=True)
    return tuple(
        sizes.ask(challenge, key, count) for row in rows for key, count in zip(row, SMALL, strict=True)
    )


def _per_document_ms(seen: Seen) -> float:
    four = fastest_ms(repeats(seen.run_of("small"), SMALL[1]))
    twelve = fastest_ms(some(seen.run_of("large"), LARGE_KEYS))
    return 0 if four is None or twelve is None else (twelve - four) / (LARGE - SMALL[1])


class Prefill(Step):
    key, order, points = "prefill", 4, 10
    title = N_("What does a document cost?")
    goal = N_("Measure two sizes of a prompt, predict the next one from them, and see where the time goes.")
    rounds = (Small(), Large(), Explain())
    shows = frozenset({"cost"})
    limits = (PREDICTED, COST)
    needs = frozenset({"slots", "content"})
    budget_ms = 9_000

    def scores(self, seen: Seen) -> Iterator[Score]:
        """How far the locked prediction for twelve documents was from the fastest of their repeats, in per cent."""
        small, run = seen.run_of(Small.key), seen.run_of(Large.key)
        said_ms, twelve = seen[Large.key].answers["twelve_ms"], some(run, LARGE_KEYS)
        line = [ask for count in SMALL for ask in repeats(small, count)]  # what the prediction was made from
        fastest = fastest_ms(twelve)
        if measured_fault(small, line) or measured_fault(run, twelve) or not fastest:
            return
        off_percent = round(100 * abs(said_ms - fastest) / fastest, 1)
        yield Score("predictor", off_percent, {"said_ms": said_ms, "fastest_ms": round(fastest, 1)}, run)

    def examples(self) -> Sequence[Example]:
        from labs.steps.examples import prefill

        return prefill.examples(self)
