"""Step 6: one changing line in front breaks the prefix cache, and an order of the blocks that repairs it (lab.md 6)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from labs.grading.checks import Check
from labs.grading.limits import Limit
from labs.grading.order import break_fault, evidence_of, more_computed, pair_of, why_no_break
from labs.grading.sane import Fault, alone, cold, first_fault, ours, served, template_changes, whole
from labs.measure.plan import Ask, Plan
from labs.measure.prefix import SLACK_TOKENS
from labs.steps import blocks, corpus, tables
from labs.steps.base import Example, Exhibit, Round, Seen, Step, StepForm
from labs.steps.claims import cache_break as claims
from labs.steps.fields import BlockOrder, ClockField, TokenPick, TokensField
from labs.steps.prompts import as_text
from labs.text import N_, Json, Text

DOCUMENTS = 7
PREDICTED = Limit(
    "predicted-tokens", N_("How far a predicted prefix may be off"), "tokens", SLACK_TOKENS, 0, 50
)
PROMPT_TOKENS, TAIL_TOKENS = 280, 50
PLACES = [
    ("front", _("in front of everything")),
    ("between", _("between the documents and the question")),
    ("end", _("at the very end")),
]
TITLES = {
    blocks.RULE_BLOCK: _("The rule"),
    blocks.FIRST: _("Documents, first half"),
    blocks.SECOND: _("Documents, second half"),
    blocks.CLOCK: _("The clock line"),
    blocks.QUESTION: _("The question"),
}


def _layout(challenge: Json, order: Sequence[str]) -> blocks.Layout:
    return blocks.Layout(order, challenge["documents"], challenge["question"])


class GuessForm(StepForm):
    place = forms.ChoiceField(
        choices=PLACES,
        widget=forms.RadioSelect,
        label=_("Where does the clock line stand?"),
        error_messages={"required": _("Choose a place for the clock line.")},
    )

    def build(self) -> None:
        self.fields["second_clock"] = ClockField(
            label=_("What does the clock say in the third request?"), initial=self.challenge["other"]
        )
        for place, name in PLACES:
            field = TokenPick(
                self.tokens.get(place, ()),
                required=False,
                label=_(
                    "If it stands %(place)s: which token is the first that differs from the request before?"
                )
                % {"place": name},
                help_text=_(
                    "Everything before it is the common prefix; if nothing differs, pick the last one. The lab "
                    "line's tokens are added for you."
                ),
            )
            field.widget.attrs["when"] = f"place={place}"
            self.fields[f"pick_{place}"] = field

    def clean(self) -> Json:
        cleaned = super().clean()
        place = cleaned.get("place")
        pick = f"pick_{place}"
        if place and cleaned.get(pick) is None and pick not in self.errors:
            self.add_error(pick, _("Pick the first token that will differ."))
        return cleaned

    def answers(self) -> Json:
        place = self.cleaned_data["place"]
        return {name: self.cleaned_data[name] for name in ("place", "second_clock", f"pick_{place}")}


class Guess(Round):
    key, title, Form = "guess", N_("Where will the prefix end?"), GuessForm

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        clock, other = blocks.draw_clocks(rng)
        return {
            "documents": corpus.documents(rng, DOCUMENTS),
            "question": corpus.question(rng, DOCUMENTS),
            "clock": clock,
            "other": other,
        }

    def tokenise(self, challenge: Json) -> Mapping[str, Sequence[Mapping[str, str]]]:
        return {p: _layout(challenge, o).messages(challenge["clock"]) for p, o in blocks.PLACES.items()}

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        text = as_text(_layout(challenge, blocks.PLACES["front"]).messages(challenge["clock"]))
        return [
            Exhibit(
                _("The prompt, with the clock line in front"),
                "prompt",
                text,
                note=_("It is sent twice as it is, then once with another time on the clock."),
            )
        ]

    def sample(
        self, challenge: Json, seen: Seen, tokens: Mapping[str, Sequence[Json]] | None = None
    ) -> Mapping[str, Any]:
        return {
            "place": "front",
            "second_clock": challenge["other"],
            "pick_front": blocks.first_change(
                challenge["clock"], challenge["other"], (tokens or {}).get("front", ())
            ),
        }

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan:
        layout = _layout(challenge, blocks.PLACES[answers["place"]])
        first, changed = layout.messages(challenge["clock"]), layout.messages(answers["second_clock"])
        behind = PROMPT_TOKENS if answers["place"] == "front" else TAIL_TOKENS
        return Plan(
            (
                _ask("cold", first, PROMPT_TOKENS, N_("Cold")),
                _ask("control", first, 1, N_("The same again")),
                _ask("changed", changed, behind, N_("Another time on the clock")),
            )
        )

    def predicted_prefix(self, seen: Seen) -> Mapping[str, int]:
        run, answers = seen.run_of(self.key), seen[self.key].answers
        return {"changed": answers[f"pick_{answers['place']}"] + run.lab_line_tokens}

    def grade(self, seen: Seen) -> Iterator[Check]:
        run, answers, challenge = seen[self.key].run, seen[self.key].answers, seen[self.key].challenge
        if run is None:
            return
        control, changed = run["control"], run["changed"]
        pair, evidence = pair_of(changed, control), evidence_of(run, ("cold", "control", "changed"))
        place, pick = answers["place"], answers[f"pick_{answers['place']}"]
        predicted, slack_tokens = pick + run.lab_line_tokens, PREDICTED.of(seen.limits)
        yield claims.PREDICTION.settle(
            None if changed.n else Fault(N_("The server's tokens of the prompt are missing.")),
            abs(predicted - pair.lcp) <= slack_tokens,
            N_(
                "You predicted a common prefix of %(predicted)s tokens; it has %(lcp)s.",
                predicted=predicted,
                lcp=pair.lcp,
            ),
            N_(
                "You predicted a common prefix of %(predicted)s tokens, but the two prompts share %(lcp)s. Pick the "
                "first token that differs, or the last one where none does.",
                predicted=predicted,
                lcp=pair.lcp,
            ),
            {
                **evidence,
                "rule": N_("prefix predicted = prefix of the two prompts").to_json(),
                "limit": {"tokens": slack_tokens},
                "predicted": predicted,
            },
        )
        differs = answers["second_clock"] != challenge["clock"]
        broke = place == "front" and differs and pair.broke and pair.computed_as_expected
        yield claims.BREAK.settle(
            break_fault(run),
            broke,
            N_(
                "One changed line in front: %(prompt_n)s of %(n)s tokens were computed again, after a repeat that "
                "computed %(control)s.",
                prompt_n=pair.prompt_n,
                n=pair.n,
                control=control.figures.prompt_n or 0,
            ),
            why_no_break(place, differs, pair),
            {**evidence, "rule": N_("N - LCP >= max(0.8 N, 64)").to_json(), "limit": {"tokens": pair.needed}},
        )


class RepairForm(StepForm):
    def build(self) -> None:
        layout = _layout(self.seen["guess"].challenge, blocks.BLOCKS)
        clock = self.challenge["clock"]
        self.fields["order"] = BlockOrder(
            {block: (TITLES[block], layout.text(block, clock)) for block in blocks.PLACES["front"]},
            label=_("Order the blocks so that the cache survives another time on the clock."),
        )
        self.fields["more_computed"] = TokensField(
            label=_(
                "In your first round: how many more prompt tokens were computed for the changed prompt than for the "
                "identical repeat?"
            )
        )


class Repair(Round):
    key, title, Form = "repair", N_("Repair the layout"), RepairForm

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        clock, other = blocks.draw_clocks(rng)
        return {"clock": clock, "other": other}

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        run = seen["guess"].run
        if run is None:
            return ()
        names = {"cold": _("cold"), "control": _("identical repeat"), "changed": _("changed")}
        return [tables.cache_counters(run, names), tables.clocks(challenge["clock"], challenge["other"])]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        run = seen["guess"].run
        more = (more_computed(run) if run is not None else None) or 0
        return {"order": ",".join(blocks.PLACES["between"]), "more_computed": max(more, 0)}

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan:
        layout = _layout(seen["guess"].challenge, answers["order"])
        behind = PROMPT_TOKENS if layout.behind_clock else TAIL_TOKENS
        return Plan(
            (
                _ask("before", layout.messages(challenge["clock"]), PROMPT_TOKENS, N_("Cold")),
                _ask("after", layout.messages(challenge["other"]), behind, N_("Another time on the clock")),
            )
        )

    def grade(self, seen: Seen) -> Iterator[Check]:
        answers, challenge, run = seen[self.key].answers, seen[self.key].challenge, seen[self.key].run
        guess = seen["guess"].run
        if guess is not None:
            more = more_computed(guess)
            yield claims.OWN_FIGURES.settle(
                break_fault(guess),
                answers["more_computed"] == more,
                N_("Right: %(more)s more tokens were computed for the changed prompt.", more=more or 0),
                N_(
                    "You said %(said)s. Take prompt_n of the repeat from that of the changed prompt.",
                    said=answers["more_computed"],
                ),
                {
                    **evidence_of(guess, ("control", "changed")),
                    "rule": N_("prompt_n of the changed prompt - prompt_n of the repeat").to_json(),
                    "said": answers["more_computed"],
                },
            )
        if run is None:
            return
        layout = _layout(seen["guess"].challenge, answers["order"])
        pair = pair_of(run["after"], run["before"])
        reaches = pair.behind <= layout.tail_at_most(challenge["other"])
        fault = first_fault(
            alone(run),
            *(f(r) for r in (run["before"], run["after"]) for f in (ours, whole)),
            cold(run["before"], run),
            served(run["after"], run["before"], run),
            None if layout.behind_clock or reaches else template_changes(),
        )
        yield claims.REPAIRED.settle(
            fault,
            not layout.behind_clock and reaches and pair.computed_as_expected,
            N_(
                "Every document stands before the clock: %(prompt_n)s of %(n)s tokens were computed for another time.",
                prompt_n=pair.prompt_n,
                n=pair.n,
            ),
            N_(
                "%(prompt_n)s of %(n)s tokens were computed again, because documents stand behind the clock. Put the "
                "clock line behind all documents.",
                prompt_n=pair.prompt_n,
                n=pair.n,
            ),
            {
                **evidence_of(run, ("before", "after")),
                "rule": N_(
                    "documents before the clock; LCP to the last document's end; prompt_n <= N - LCP + 2"
                ).to_json(),
                "order": list(answers["order"]),
            },
        )


def _ask(key: str, messages: tuple[dict[str, str], ...], computed: int, title: Text) -> Ask:
    return Ask(key, messages, 4, lab_line=True, about_prompt_tokens=computed, title=title)


class CacheBreak(Step):
    key, order, points = "cache-break", 6, 15
    title = N_("One line in front")
    goal = N_(
        "See one changing line in front break the prefix cache, then order the prompt so that it survives."
    )
    rounds = (Guess(), Repair())
    shows = frozenset({"diff", "reuse"})
    limits = (PREDICTED,)
    needs = frozenset({"slots", "content", "prefix"})
    budget_ms = 5_000

    def examples(self) -> Sequence[Example]:
        from labs.steps.examples import cache_break

        return cache_break.examples(self)
