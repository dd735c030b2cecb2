"""Step 5: the same prompt again, and once more after its slot was emptied (lab.md 5)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext_lazy as _

from labs.grading.checks import Check
from labs.grading.emptied import emptied_fault, more_than, repeat_fault, tokens_erased
from labs.grading.order import evidence_of
from labs.grading.sane import unstopped
from labs.grading.split import within
from labs.measure.plan import Ask, Get, Plan
from labs.measure.prefix import SLACK_TOKENS
from labs.measure.recording import RunRecord
from labs.steps import corpus, tables
from labs.steps.base import Example, Exhibit, Round, Score, Seen, Step, StepForm
from labs.steps.claims import cache_reuse as claims
from labs.steps.fields import OneOf, TokensField
from labs.steps.prompts import as_text, with_documents
from labs.steps.recorded import kept_runs
from labs.text import N_, Json, Text

DOCUMENTS, PROMPT_TOKENS, LINE_TOKENS = 6, 250, 6
STORED = "host-cache"
FIRST = {"cold": _("cold"), "repeat": _("the same again")}
SECOND = {
    "send": _("cold"),
    "hit": _("the same again"),
    "after": _("the same, after the slot was emptied"),
}
SECOND_ITEMS = ("send", "hit", "erase", "after")


def _messages(challenge: Json) -> tuple[dict[str, str], ...]:
    return with_documents(challenge["documents"], challenge["question"])


def _ask(challenge: Json, key: str, computed: int, title: Text) -> Ask:
    return Ask(key, _messages(challenge), 4, lab_line=True, about_prompt_tokens=computed, title=title)


class AgainForm(StepForm):
    def build(self) -> None:
        n = len(self.tokens.get("prompt", ()))
        label = _("When it is sent the second time: how many of its tokens are computed (prompt_n)?")
        if n:
            told = _("The prompt has %(n)s tokens, the lab line's included.") % {"n": n + LINE_TOKENS}
            self.fields["repeat_prompt_n"] = TokensField(label=label, help_text=told)
        else:
            self.fields["repeat_prompt_n"] = TokensField(label=label)


class Again(Round):
    key, title, Form = "again", N_("The same again"), AgainForm

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        return {"documents": corpus.documents(rng, DOCUMENTS), "question": corpus.question(rng, DOCUMENTS)}

    def tokenise(self, challenge: Json) -> Mapping[str, Sequence[Mapping[str, str]]]:
        return {"prompt": _messages(challenge)}

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        text = as_text(_messages(challenge))
        return [Exhibit(_("Your prompt, sent twice to the same slot"), "prompt", text)]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        return {"repeat_prompt_n": 1}

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan:
        return Plan(
            (
                _ask(challenge, "cold", PROMPT_TOKENS, N_("Cold")),
                _ask(challenge, "repeat", 1, N_("The same again")),
            ),
            lab_line_tokens=LINE_TOKENS,
        )

    def predicted_prefix(self, seen: Seen) -> Mapping[str, int]:
        return {"repeat": seen.run_of(self.key)["repeat"].n - seen[self.key].answers["repeat_prompt_n"]}

    def grade(self, seen: Seen) -> Iterator[Check]:
        run, answers = seen[self.key].run, seen[self.key].answers
        if run is None:
            return
        yield claims.PREDICTED.settle(
            repeat_fault(run, run["cold"], run["repeat"]),
            True,
            N_(
                "You predicted %(said)s; the repeat computed %(prompt_n)s of %(n)s tokens.",
                said=answers["repeat_prompt_n"],
                prompt_n=run["repeat"].figures.prompt_n or 0,
                n=run["repeat"].n,
            ),
            N_("No prediction was made."),
            {
                **evidence_of(run, ("cold", "repeat")),
                "said": answers["repeat_prompt_n"],
                "rule": N_("predicted before the run").to_json(),
            },
        )


WHY = [
    ("line", _("The lab line is new in every request, and it has one token that changes.")),
    ("check", _("One token is computed again to test whether what the slot holds is still right.")),
    (
        "scores",
        _(
            "To choose the answer's first token it needs the result of the prompt's last one, which no cache holds."
        ),
    ),
    ("answer", _("The first token of the answer is counted as part of the prompt.")),
]


class EmptiedForm(StepForm):
    why = OneOf(
        WHY, label=_("The repeat computed 1 token, although all of them were in the cache. Why 1 and not 0?")
    )
    after_prompt_n = TokensField(
        label=_(
            "The slot is emptied, then the same prompt comes again: how many tokens are computed (prompt_n)?"
        )
    )


class Emptied(Round):
    key, title, Form = "emptied", N_("Empty the slot"), EmptiedForm

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        return [tables.cache_counters(seen.run_of("again"), FIRST)]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        return {"why": "scores", "after_prompt_n": seen.run_of("again")["cold"].n}

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan:
        asked = seen["again"].challenge
        return Plan(
            (
                _ask(asked, "send", PROMPT_TOKENS, N_("Cold")),
                _ask(asked, "hit", 1, N_("The same again")),
                Get("erase", "erase", slot=0),
                _ask(asked, "after", PROMPT_TOKENS, N_("The same, after the slot was emptied")),
            ),
            lab_line_tokens=LINE_TOKENS,
        )

    def grade(self, seen: Seen) -> Iterator[Check]:
        answers, run, again = seen[self.key].answers, seen[self.key].run, seen.run_of("again")
        yield claims.WHY.settle(
            repeat_fault(again, again["cold"], again["repeat"]),
            answers["why"] == "scores",
            N_(
                "Right: the cache holds K and V, and the next token's scores come out of the last token only."
            ),
            N_(
                "Choose another reason: what must the model have at hand to choose the first token of its answer?"
            ),
            {
                **evidence_of(again, ("cold", "repeat")),
                "said": answers["why"],
                "rule": N_("at least one token is always computed").to_json(),
            },
        )
        if run is None:
            return
        said, after = answers["after_prompt_n"], run["after"]
        yield claims.EMPTIED.settle(
            emptied_fault(run, *SECOND_ITEMS),
            within(said, after.n, SLACK_TOKENS),
            N_(
                "Right: an emptied slot has nothing to compare with, so all %(n)s tokens were computed (you said "
                "%(said)s).",
                n=after.n,
                said=said,
            ),
            _why_not_all(said, after.n),
            {
                **evidence_of(run, tuple(SECOND)),
                "said": said,
                "rule": N_("cache_n is 0 after the slot was emptied, so prompt_n = N").to_json(),
                "limit": {"tokens": SLACK_TOKENS},
                "control": {"tokens_erased": tokens_erased(run["erase"])},
            },
        )


def _why_not_all(said: int, n: int) -> Text:
    if said <= 1 + SLACK_TOKENS:
        return N_(
            "You said %(said)s, as if the slot still held the prompt; but it was emptied, so nothing can be skipped.",
            said=said,
        )
    return N_(
        "You said %(said)s. Nothing was left in the slot, so the whole prompt of %(n)s tokens is computed.",
        said=said,
        n=n,
    )


WHERE = [
    ("slot", _("from the slot: emptying it does not really forget")),
    ("other", _("from the other slot, which held the same prompt")),
    ("host", _("from the host's memory, where this server collects the prompts that leave a slot")),
    ("client", _("from the client, which sent the K and V along")),
]


class ExplainForm(StepForm):
    more_computed = TokensField(
        label=_(
            "In your second round: how many more tokens were computed after the emptying than for the repeat?"
        )
    )
    where = OneOf(
        WHERE,
        label=_(
            "In the stored run one server computed 1 token, though every slot was empty. Where was the rest from?"
        ),
    )


class Explain(Round):
    key, title, Form = "explain", N_("What the slot had saved"), ExplainForm

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        stored = kept_runs(STORED)
        measured = tables.cache_counters(seen.run_of("emptied"), SECOND, _("What your second round measured"))
        return [measured, tables.two_servers(stored["on"], stored["off"])]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        return {"more_computed": max(_more(seen.run_of("emptied")) or 0, 0), "where": "host"}

    def grade(self, seen: Seen) -> Iterator[Check]:
        answers, run = seen[self.key].answers, seen.run_of("emptied")
        more = _more(run)
        yield claims.MORE.settle(
            emptied_fault(run, *SECOND_ITEMS),
            answers["more_computed"] == more,
            N_("Right: emptying the slot cost %(more)s tokens.", more=more or 0),
            N_(
                "You said %(said)s. Take prompt_n of the repeat from that of the request after the emptying.",
                said=answers["more_computed"],
            ),
            {
                **evidence_of(run, tuple(SECOND)),
                "said": answers["more_computed"],
                "rule": N_("prompt_n after the emptying - prompt_n of the repeat").to_json(),
            },
        )
        yield claims.WHERE.settle(
            None,
            answers["where"] == "host",
            N_(
                "Right: that is what --cache-ram 0 switches off, and what is useful where conversations are many."
            ),
            N_(
                "Both servers forgot what their slots held. Choose the place where only one of them had collected "
                "prompts."
            ),
            {
                "saw": {
                    key: {"n": ran["a-again"].n, "prompt_n": ran["a-again"].figures.prompt_n}
                    for key, ran in kept_runs(STORED).items()
                },
                "rule": N_("a stored run; nothing was sent").to_json(),
                "said": answers["where"],
            },
        )


def _more(run: RunRecord) -> int | None:
    return more_than(run, "after", "hit")


class CacheReuse(Step):
    key, order, points = "cache-reuse", 5, 10
    title = N_("The same again")
    goal = N_(
        "See a repeated prompt cost one token, empty its slot, and find out what had been remembered where."
    )
    rounds = (Again(), Emptied(), Explain())
    shows = frozenset({"diff", "reuse"})
    needs = frozenset({"slots", "content", "prefix"})
    budget_ms = 4_000

    def scores(self, seen: Seen) -> Iterator[Score]:
        """Cold and warm TTFT of the first round: fixed inputs but for the student's own documents."""
        run = seen.run_of(Again.key)
        first, repeat = run["cold"], run["repeat"]
        times_us = (first.figures.ttft_us, repeat.figures.ttft_us)
        if repeat_fault(run, first, repeat) or unstopped(run) or None in times_us:
            return
        cold_ms, warm_ms = (round((us or 0) / 1000, 1) for us in times_us)
        yield Score("ttft", cold_ms, {"warm_ms": warm_ms, "n": first.n}, run)

    def examples(self) -> Sequence[Example]:
        from labs.steps.examples import cache_reuse

        return cache_reuse.examples(self)
