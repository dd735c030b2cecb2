"""Step 8: closing the connection cancels the work (lab.md 8)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from labs.grading.checks import Check
from labs.grading.split import within
from labs.grading.stops import (
    control_evidence,
    cut_evidence,
    cut_fault,
    cut_of,
    how_it_went,
    saved,
    way_fault,
)
from labs.measure.plan import Ask, Close, Get, Hold, Plan
from labs.measure.prefix import SLACK_TOKENS
from labs.measure.recording import RunRecord
from labs.steps import corpus, snippets, tables
from labs.steps.base import Example, Exhibit, Round, Seen, Step, StepForm
from labs.steps.claims import barge_in as claims
from labs.steps.fields import MaxTokensField, TokensField
from labs.steps.prompts import as_text, with_documents
from labs.text import N_, Json

SHORT_TOKENS, LONG_TOKENS, LONG_DOCUMENTS = 40, 270, 7
CUT_AFTER_MS, ALLOWED = 500, 200
STOP_AFTER_MS, SHUT_AFTER_MS = 300, 500
BREAK_TOKENS = 48  # more than 0.3 s of writing, and soon at its end
BREAK_LIMIT_MS = 20_000  # the same on a machine that is forty times slower
# Four deadlines of one second at the lab's typical 9 ms a token, where the first round measured no other speed.
TWIN_US, TWIN_TOKENS = 4_000_000, 444
TWIN_AT_LEAST = 300  # a moment of load in the first round must not make the twin too short
TOPICS = (
    "a lighthouse keeper and a lost whale",
    "a green van that brings books to a village",
    "an old map that leads to a dry cellar",
    "a telescope that was lent out for one night",
    "a garden where every herb has a story",
    "a chapel that hid a thousand books",
    "a blue chest full of lost umbrellas",
    "a story hour under a painted whale",
)


def _story(topic: str) -> tuple[dict[str, str], ...]:
    return (
        {"role": "system", "content": "You tell stories to children."},
        {"role": "user", "content": f"Tell me a very long story about {topic}."},
    )


class CutForm(StepForm):
    short_tokens = TokensField(
        most=ALLOWED, label=_("The short prompt: how many tokens has it written when you close after 0.5 s?")
    )
    long_tokens = TokensField(
        most=ALLOWED, label=_("The long prompt: how many tokens has it written when you close after 0.5 s?")
    )


class CutRound(Round):
    key, title, Form = "cut", N_("Close after half a second"), CutForm

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        return {
            "topic": rng.choice(TOPICS),
            "documents": corpus.documents(rng, LONG_DOCUMENTS),
            "question": corpus.question(rng, LONG_DOCUMENTS),
        }

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        long = with_documents(challenge["documents"], challenge["question"])
        return [
            Exhibit(_("The short prompt, about 40 tokens"), "prompt", as_text(_story(challenge["topic"]))),
            Exhibit(_("The long prompt, about 270 tokens"), "prompt", as_text(long)),
        ]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        return {"short_tokens": 35, "long_tokens": 0}

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan:
        long = with_documents(challenge["documents"], challenge["question"])
        return Plan(
            (
                _cut("writing", _story(challenge["topic"]), SHORT_TOKENS, CUT_AFTER_MS),
                _cut("reading", long, LONG_TOKENS, CUT_AFTER_MS),
            )
        )

    def grade(self, seen: Seen) -> Iterator[Check]:
        run, answers = seen[self.key].run, seen[self.key].answers
        if run is None:
            return
        guesses = {"writing": answers["short_tokens"], "reading": answers["long_tokens"]}
        for key, claim in (("writing", claims.CUT_WRITING), ("reading", claims.CUT_READING)):
            went = how_it_went(run, key, cut_of(run, key, ALLOWED), guesses[key])
            evidence = {**cut_evidence(run, key, ALLOWED), "guess": guesses[key]}
            yield claim.settle(cut_fault(run, key, ALLOWED), True, went, went, evidence)


class StopForm(StepForm):
    stops = forms.MultipleChoiceField(
        choices=[(key, snippet.title) for key, snippet in snippets.SNIPPETS.items()],
        widget=forms.CheckboxSelectMultiple,
        label=_("Which of these make the server stop?"),
        error_messages={"required": _("Choose at least one.")},
    )
    saved_tokens = TokensField(
        most=ALLOWED,
        label=_(
            "Your short prompt of the first round was allowed 200 tokens. How many of them did the server not have to "
            "write because you closed?"
        ),
    )
    next_turn_tokens = MaxTokensField(
        label=_("How many tokens may the next turn write (8 to 64)?"),
        initial=8,
        help_text=_(
            "It is asked on the other slot and then on the same one, while a request is held. Not marked."
        ),
    )


class Stop(Round):
    key, title, Form = "stop", N_("What stops the server?"), StopForm

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        close, leave, broken, stall, turn = rng.sample(TOPICS, 5)
        return {"close": close, "leave": leave, "break": broken, "stall": stall, "next": turn}

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        shown = [Exhibit(snippet.title, "code", snippet.code) for snippet in snippets.SNIPPETS.values()]
        run = seen["cut"].run
        if run is None:
            return shown
        return [*shown, tables.slot_content(run["writing"], ALLOWED)]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        run = seen["cut"].run
        not_written = None if run is None else saved(run, "writing", ALLOWED)
        right = [key for key, snippet in snippets.SNIPPETS.items() if snippet.stops]
        return {
            "stops": right,
            "saved_tokens": ALLOWED if not_written is None else not_written,
            "next_turn_tokens": 8,
        }

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan:
        turn = _story(challenge["next"])
        most = answers["next_turn_tokens"]
        return Plan(
            (
                _cut("close", _story(challenge["close"]), SHORT_TOKENS, STOP_AFTER_MS),
                _cut("leave", _story(challenge["leave"]), SHORT_TOKENS, STOP_AFTER_MS),
                Ask(
                    "break",
                    _story(challenge["break"]),
                    BREAK_TOKENS,
                    lab_line=True,
                    ignore_eos=True,
                    end=Hold(until="break-end", stop_after_ms=STOP_AFTER_MS),
                    about_prompt_tokens=SHORT_TOKENS,
                    title=N_("break, the iterator kept"),
                ),
                Get("break-end", "slots", until_idle=0, limit_ms=BREAK_LIMIT_MS),
                Ask(
                    "stall",
                    _story(challenge["stall"]),
                    twin_tokens(seen["cut"].run),
                    lab_line=True,
                    ignore_eos=True,
                    end=Hold(until="same", stop_after_ms=STOP_AFTER_MS, shut_after_ms=SHUT_AFTER_MS),
                    about_prompt_tokens=SHORT_TOKENS,
                    title=N_("Held open, not read"),
                ),
                Get("look", "slots"),
                Ask(
                    "other",
                    turn,
                    most,
                    slot=1,
                    lab_line=True,
                    about_prompt_tokens=SHORT_TOKENS,
                    title=N_("The next turn, on the other slot"),
                ),
                Get("look-again", "slots"),
                Ask(
                    "same",
                    turn,
                    most,
                    lab_line=True,
                    about_prompt_tokens=SHORT_TOKENS,
                    title=N_("The next turn, on the same slot"),
                ),
                Get("after", "slots", until_idle=0),
            )
        )

    def grade(self, seen: Seen) -> Iterator[Check]:
        answers, run, cut = seen[self.key].answers, seen[self.key].run, seen["cut"].run
        if cut is not None:
            not_written = saved(cut, "writing", ALLOWED)
            yield claims.SAVED.settle(
                cut_fault(cut, "writing", ALLOWED),
                not_written is not None and within(answers["saved_tokens"], not_written, SLACK_TOKENS),
                N_("Right: closing saved the server %(saved)s of 200 tokens.", saved=not_written or 0),
                N_(
                    "You said %(said)s. What stood in the slot beyond the prompt was written; what is left of 200 was "
                    "saved.",
                    said=answers["saved_tokens"],
                ),
                {
                    **cut_evidence(cut, "writing", ALLOWED),
                    "saved": not_written,
                    "said": answers["saved_tokens"],
                },
            )
        if run is None:
            return
        allowed = {"break": BREAK_TOKENS, "stall": twin_tokens(cut)}
        for key, snippet in snippets.SNIPPETS.items():
            chosen = key in answers["stops"]
            yield claims.CHOICES[key].settle(
                way_fault(run, key, ALLOWED, BREAK_TOKENS),
                chosen == snippet.stops,
                snippet.said_right,
                snippet.said_wrong,
                {
                    **cut_evidence(run, key, allowed.get(key, ALLOWED)),
                    "said": chosen,
                    "control": control_evidence(run),
                },
            )


def twin_tokens(run: RunRecord | None) -> int:
    """`max_tokens` of the held twin: four deadlines' worth at this server's own speed, within the slot's room
    (DESIGN 6.7)."""
    us_per_token = run["writing"].figures.us_per_token if run is not None else None
    wanted = TWIN_TOKENS if not us_per_token else round(TWIN_US / us_per_token)
    room = run.server.n_ctx if run is not None else 0
    wanted = max(wanted, TWIN_AT_LEAST)
    return min(wanted, room - 2 * SHORT_TOKENS) if room else wanted


def _cut(key: str, messages: tuple[dict[str, str], ...], n: int, after_ms: int) -> Ask:
    return Ask(
        key,
        messages,
        ALLOWED,
        lab_line=True,
        ignore_eos=True,
        end=Close(after_ms),
        about_prompt_tokens=n,
        title=N_("Closed after %(ms)s ms", ms=after_ms),
    )


class BargeIn(Step):
    key, order, points = "barge-in", 8, 10
    title = N_("Closing is cancelling")
    goal = N_(
        "Close a stream in the middle, see the slot fall idle, and tell which code really stops the server."
    )
    rounds = (CutRound(), Stop())
    shows = frozenset({"slots", "voice"})
    needs = frozenset({"slots", "content", "cancel"})
    budget_ms = 6_000

    def examples(self) -> Sequence[Example]:
        from labs.steps.examples import barge_in

        return barge_in.examples(self)
