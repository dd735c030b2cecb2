"""Step 6: one changing line in front breaks the prefix cache, and an order of the blocks that repairs it (lab.md 6)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from labs.grading.checks import Check, Verdict
from labs.grading.claim import Claim
from labs.grading.order import Pair
from labs.grading.sane import Fault, alone, cold, first_fault, hit, ours, served, shared, whole
from labs.measure.plan import Ask, Plan
from labs.measure.prefix import SLACK_TOKENS
from labs.measure.recording import Recording, RunRecord
from labs.steps import blocks, corpus, recorded
from labs.steps.base import Example, Exhibit, Round, Seen, Step, StepForm
from labs.steps.examples import ModelServer, played, with_verdict
from labs.steps.fields import BlockOrder, ClockField, TokenPick, TokensField
from labs.steps.prompts import as_text
from labs.text import N_, Json, Text

DOCUMENTS = 7
PROMPT_TOKENS, TAIL_TOKENS = 290, 50
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
                label=_("If it stands %(place)s: which token is the first that differs from the request before?")
                % {"place": name},
                help_text=_("Everything before it is the common prefix. The lab line's tokens are added for you."),
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
            "pick_front": first_change(challenge, (tokens or {}).get("front", ())),
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

    def grade(self, seen: Seen) -> Iterator[Check]:
        run, answers, challenge = seen[self.key].run, seen[self.key].answers, seen[self.key].challenge
        if run is None:
            return
        control, changed = run["control"], run["changed"]
        pair, evidence = _pair(changed, control), _evidence(run, ("cold", "control", "changed"))
        place, pick = answers["place"], answers[f"pick_{answers['place']}"]
        predicted = pick + run.lab_line_tokens
        yield PREDICTION.settle(
            None if changed.n else Fault(N_("The server's tokens of the prompt are missing.")),
            abs(predicted - pair.lcp) <= SLACK_TOKENS,
            N_(
                "You predicted a common prefix of %(predicted)s tokens; it has %(lcp)s.",
                predicted=predicted,
                lcp=pair.lcp,
            ),
            N_(
                "You predicted a common prefix of %(predicted)s tokens, but the two prompts share %(lcp)s.",
                predicted=predicted,
                lcp=pair.lcp,
            ),
            {
                **evidence,
                "rule": "prefix predicted = prefix of the two prompts",
                "limit": {"tokens": SLACK_TOKENS},
                "predicted": predicted,
            },
        )
        differs = answers["second_clock"] != challenge["clock"]
        broke = place == "front" and differs and pair.broke and pair.computed_as_expected
        yield BREAK.settle(
            guess_fault(run),
            broke,
            N_(
                "One changed line in front: %(prompt_n)s of %(n)s tokens were computed again, after a repeat that "
                "computed %(control)s.",
                prompt_n=pair.prompt_n,
                n=pair.n,
                control=control.figures.prompt_n or 0,
            ),
            _no_break(place, differs, pair),
            {**evidence, "rule": "N - LCP >= max(0.8 N, 64)", "limit": {"tokens": pair.needed}},
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
        return [
            Exhibit(
                _("What your first round measured"),
                "table",
                head=(_("request"), _("prompt tokens (N)"), "cache_n", "prompt_n"),
                rows=[
                    (str(name), run[key].n, run[key].figures.cache_n, run[key].figures.prompt_n)
                    for key, name in names.items()
                ],
            ),
            Exhibit(
                _("The clock in this round"),
                "table",
                head=(_("request"), _("time")),
                rows=[(str(_("first")), challenge["clock"]), (str(_("second")), challenge["other"])],
            ),
        ]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        run = seen["guess"].run
        more = (_more(run) if run is not None else None) or 0
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
            more = _more(guess)
            yield OWN_FIGURES.settle(
                guess_fault(guess),
                answers["more_computed"] == more,
                N_("Right: %(more)s more tokens were computed for the changed prompt.", more=more or 0),
                N_("You said %(said)s; subtract the two figures of the table.", said=answers["more_computed"]),
                {
                    **_evidence(guess, ("control", "changed")),
                    "rule": "prompt_n of the changed prompt - prompt_n of the repeat",
                    "said": answers["more_computed"],
                },
            )
        if run is None:
            return
        layout = _layout(seen["guess"].challenge, answers["order"])
        pair = _pair(run["after"], run["before"])
        reaches = pair.behind <= layout.tail_at_most(challenge["other"])
        fault = first_fault(
            alone(run),
            *(f(r) for r in (run["before"], run["after"]) for f in (ours, whole)),
            cold(run["before"], run),
            served(run["after"], run["before"], run),
            None if layout.behind_clock or reaches else TEMPLATE_CHANGES,
        )
        yield REPAIRED.settle(
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
                **_evidence(run, ("before", "after")),
                "rule": "documents before the clock; LCP to the last document's end; prompt_n <= N - LCP + 2",
                "order": list(answers["order"]),
            },
        )


def first_change(challenge: Json, tokens: Sequence[Json]) -> int:
    """Where the front layout's prompts part: the token that holds the first differing character of the clock."""
    at = next((i for i, (a, b) in enumerate(zip(challenge["clock"], challenge["other"], strict=True)) if a != b), 0)
    until = "".join(t["text"] for t in tokens).find(challenge["clock"]) + at
    end = 0
    for i, token in enumerate(tokens):
        end += len(token["text"])
        if end > until:
            return i
    return 10


def guess_fault(run: RunRecord) -> Fault | None:
    """The server behaved, the repeat hit, and nobody was in between: only then can 'it broke' be claimed."""
    first, control, changed = run["cold"], run["control"], run["changed"]
    return first_fault(
        alone(run),
        *(f(r) for r in (first, control, changed) for f in (ours, whole)),
        cold(first, run),
        served(control, first, run),
        hit(control),
        served(changed, control, run),
    )


def _ask(key: str, messages: tuple[dict[str, str], ...], computed: int, title: Text) -> Ask:
    return Ask(key, messages, 4, lab_line=True, about_prompt_tokens=computed, title=title)


def _pair(now: Recording, before: Recording) -> Pair:
    return Pair(n=now.n, lcp=shared(now, before), prompt_n=now.figures.prompt_n or 0)


def _more(run: RunRecord) -> int | None:
    changed, control = run["changed"].figures.prompt_n, run["control"].figures.prompt_n
    return None if changed is None or control is None else changed - control


def _evidence(run: RunRecord, keys: Sequence[str]) -> Json:
    """For each ask N, `cache_n`, `prompt_n` and, but for the first, the LCP with the one before."""
    saw: Json = {}
    for i, key in enumerate(keys):
        now = run[key]
        saw[key] = {"n": now.n, "cache_n": now.figures.cache_n, "prompt_n": now.figures.prompt_n}
        if i:
            saw[key]["lcp"] = shared(now, run[keys[i - 1]])
    return {"saw": saw, "lab_line_tokens": run.lab_line_tokens, "metrics_agree": run.metrics_agree}


def _no_break(place: str, differs: bool, pair: Pair) -> Text:
    if not differs:
        return N_("Both prompts were the same, so nothing could break. Give the clock another time.")
    if place != "front":
        return N_(
            "The clock stood behind the documents, so only %(behind)s of %(n)s tokens had to be computed. To see the "
            "cache break, put the changing line in front of everything.",
            behind=pair.behind,
            n=pair.n,
        )
    return N_(
        "Only %(behind)s of %(n)s tokens stand behind the change, and a break needs %(needed)s. Change the time at "
        "its front.",
        behind=pair.behind,
        n=pair.n,
        needed=pair.needed,
    )


TEMPLATE_CHANGES = Fault(
    N_("The documents stand before the clock, yet the prompts part earlier: the server's template changes by itself.")
)
PREDICTION = Claim(
    "prediction",
    "guess",
    N_("Where the common prefix ends"),
    3,
    (
        N_("The server compares the two prompts token by token from the front. Where do they part?"),
        N_("Compare the two times digit by digit: the first digit that differs is the first token that differs."),
    ),
)
BREAK = Claim(
    "break",
    "guess",
    N_("A changed line in front breaks the cache"),
    5,
    (
        N_("Only what stands before the first difference can come from the cache."),
        N_("Let the clock line stand in front of everything, and give it two different times."),
    ),
)
OWN_FIGURES = Claim(
    "own-figures",
    "guess",
    N_("What the change cost"),
    2,
    (N_("prompt_n counts the tokens computed now."), N_("Take prompt_n of the changed prompt less that of the repeat.")),
)
REPAIRED = Claim(
    "repaired",
    "repair",
    N_("The repaired layout"),
    5,
    (
        N_("Which blocks are the same in both requests? They can come from the cache if they stand in front."),
        N_("The clock is the only block that changes. Which blocks must stand before it?"),
    ),
)

KEYS = ("prediction", "break", "own-figures", "repaired")
PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


class CacheBreak(Step):
    key, order, points = "cache-break", 6, 15
    title = N_("One line in front")
    goal = N_("See one changing line in front break the prefix cache, then order the prompt so that it survives.")
    rounds: Sequence[Round] = (Guess(), Repair())
    needs = frozenset({"prefix"})
    budget_ms = 5_000

    def examples(self) -> Sequence[Example]:
        def fails(name: str, answers: Any, **verdicts: Verdict) -> Example:
            return played(self, name, "fail", with_verdict(KEYS, PASS, **verdicts), answers=answers)

        def sick(name: str, server: ModelServer) -> Example:
            expected = with_verdict(KEYS, OPEN, prediction=PASS)
            return played(self, name, "inconclusive", expected, server=server)

        front = ",".join(blocks.PLACES["front"])
        in_the_middle = "rule,documents-1,clock,documents-2,question"
        return [
            played(self, "model answers", "pass", with_verdict(KEYS, PASS)),
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
            fails("own figures not subtracted", {"repair": {"more_computed": lambda more, _c: more + 1}}, own_figures=FAIL),
            fails("clock still in front", {"repair": {"order": front}}, repaired=FAIL),
            fails("clock among the documents", {"repair": {"order": in_the_middle}}, repaired=FAIL),
            sick("no reuse on this server", ModelServer(reuses=False)),
            sick("no reuse and no /metrics", ModelServer(reuses=False, has_metrics=False)),
            sick("a hidden host cache", ModelServer(remembers_all=True)),
            sick("a stranger between", ModelServer(stranger=True)),
            sick("no /slots", ModelServer(has_slots=False)),
            *recorded.examples(self.key),
        ]
