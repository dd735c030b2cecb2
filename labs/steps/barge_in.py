"""Step 8: closing the connection cancels the work (lab.md 8)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from labs.grading.checks import Check
from labs.grading.claim import Claim
from labs.grading.freed import Cut, not_freed, ran_to_end, read_cut, slot_row, still_busy
from labs.grading.sane import Fault, alone, first_fault
from labs.grading.split import within
from labs.measure.plan import Ask, Close, Get, Hold, Plan
from labs.measure.prefix import SLACK_TOKENS
from labs.measure.recording import RunRecord
from labs.steps import corpus, snippets
from labs.steps.base import Example, Exhibit, Round, Seen, Step, StepForm
from labs.steps.fields import MaxTokensField, TokensField
from labs.steps.prompts import as_text, with_documents
from labs.text import N_, Json

SHORT_TOKENS, LONG_TOKENS, LONG_DOCUMENTS = 40, 260, 7
CUT_AFTER_MS, ALLOWED = 500, 200
STOP_AFTER_MS, SHUT_AFTER_MS = 300, 500
BREAK_TOKENS = 48  # more than 0.3 s of writing, and soon at its end
# Four deadlines of one second at the lab's typical 9 ms a token, where the first round measured no other speed.
TWIN_US, TWIN_TOKENS = 4_000_000, 444
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
            Exhibit(_("The long prompt, about 260 tokens"), "prompt", as_text(long)),
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
        for key, claim in (("writing", CUT_WRITING), ("reading", CUT_READING)):
            cut, shown = read_cut(run[key], ALLOWED, run.server), run[key].figures.predicted_n or 0
            params = {"guess": guesses[key], "shown": shown, "after": cut.after_cut or 0, **_freed_in(cut)}
            yield claim.settle(
                cut_fault(run, key),
                True,
                N_(
                    "You guessed %(guess)s tokens; it had written %(shown)s. The slot was free %(freed)s ms after the "
                    "close (expected within %(limit)s ms), with %(after)s tokens of work after it.",
                    **params,
                ),
                N_("No guess was made."),
                {**_evidence(run, key, cut), "guess": guesses[key]},
            )


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
        help_text=_("It is asked on the other slot and then on the same one, while a request is held. Not marked."),
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
        ask = run["writing"]
        table = Exhibit(
            _("Your short prompt of the first round"),
            "table",
            head=(_("what"), _("tokens")),
            rows=[
                (str(_("in the prompt (N)")), ask.n),
                (str(_("in the slot when it was free: prompt and answer")), ask.prompt_tokens_after),
                (str(_("allowed for the answer (max_tokens)")), ALLOWED),
            ],
        )
        return [*shown, table]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        run = seen["cut"].run
        saved = None if run is None else _saved(run)
        right = [key for key, snippet in snippets.SNIPPETS.items() if snippet.stops]
        return {"stops": right, "saved_tokens": ALLOWED if saved is None else saved, "next_turn_tokens": 8}

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
                Get("break-end", "slots", until_idle=0),
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
            saved = _saved(cut)
            yield SAVED.settle(
                cut_fault(cut, "writing"),
                saved is not None and within(answers["saved_tokens"], saved, SLACK_TOKENS),
                N_("Right: closing saved the server %(saved)s of 200 tokens.", saved=saved or 0),
                N_(
                    "You said %(said)s; see how many tokens stood in the slot and how many of them were the prompt.",
                    said=answers["saved_tokens"],
                ),
                {**_evidence(cut, "writing", read_cut(cut["writing"], ALLOWED, cut.server)), "saved": saved},
            )
        if run is None:
            return
        faults = snippet_faults(run)
        for key, snippet in snippets.SNIPPETS.items():
            chosen = key in answers["stops"]
            figures = read_cut(run[key], ALLOWED, run.server)
            yield CHOICES[key].settle(
                faults[key],
                chosen == snippet.stops,
                snippet.said_right,
                snippet.said_wrong,
                {
                    **_evidence(run, key, figures),
                    "said": chosen,
                    "control": {
                        "look": slot_row(run.get("look-again"), run["stall"].slot),
                        "same_slot_waited_us": run["same"].figures.headers_us,
                        "other_slot_waited_us": run["other"].figures.headers_us,
                    },
                },
            )


def twin_tokens(run: RunRecord | None) -> int:
    """`max_tokens` of the held twin: four deadlines' worth at this server's own speed, within the slot's room
    (DESIGN 6.7)."""
    us_per_token = run["writing"].figures.us_per_token if run is not None else None
    wanted = TWIN_TOKENS if not us_per_token else round(TWIN_US / us_per_token)
    room = run.server.n_ctx if run is not None else 0
    return max(min(wanted, room - 2 * SHORT_TOKENS) if room else wanted, BREAK_TOKENS)


def cut_fault(run: RunRecord, key: str) -> Fault | None:
    return first_fault(alone(run), not_freed(run[key], read_cut(run[key], ALLOWED, run.server)))


def snippet_faults(run: RunRecord) -> dict[str, Fault | None]:
    """For each snippet why this run does not show what it does.

    'It stops' needs the twin that was still busy; 'it runs on' needs a close in the same run that did stop.
    """
    quiet, closed, left = alone(run), cut_fault(run, "close"), cut_fault(run, "leave")
    busy = still_busy(run["stall"], run.get("look-again"))
    ran_on = ran_to_end(run["break"], BREAK_TOKENS, run.get("break-end"))
    return {
        "close": first_fault(quiet, closed, busy),
        "leave": first_fault(quiet, left, busy),
        "break": first_fault(quiet, ran_on, closed),
        "stall": first_fault(quiet, busy, closed),
    }


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


def _saved(run: RunRecord) -> int | None:
    """Of the allowed tokens, how many the server did not write."""
    written = read_cut(run["writing"], ALLOWED, run.server).written
    return None if written is None else ALLOWED - written


def _freed_in(cut: Cut) -> Json:
    return {"freed": round((cut.freed_us or 0) / 1000), "limit": round(cut.limit_us / 1000)}


def _evidence(run: RunRecord, key: str, cut: Cut) -> Json:
    ask = run[key]
    return {
        "saw": {
            **cut.to_json(),
            "n": ask.n,
            "ttft_us": ask.figures.ttft_us,
            "predicted_n": ask.figures.predicted_n,
            "prompt_tokens_after": ask.prompt_tokens_after,
            "id_task": ask.id_task,
            "log_cancel": ask.log_cancel,
            "log_readable": ask.log_readable,
        },
        "rule": "our task gone from /slots, before the answer's natural end",
        "limit": {"us": cut.limit_us, "allowed_tokens": ALLOWED},
    }


CUT_WRITING = Claim("cut-writing", "cut", N_("Closed while it wrote"), 2)
CUT_READING = Claim("cut-reading", "cut", N_("Closed while it read the prompt"), 2)
SAVED = Claim(
    "saved",
    "cut",
    N_("What closing saved"),
    2,
    (
        N_("The slot holds the prompt and what was written of the answer."),
        N_("Written = tokens in the slot - N. Saved = 200 - written."),
    ),
)
CHOICES = {
    key: Claim(f"stop-{key}", "stop", snippet.claim, 1, snippet.hints) for key, snippet in snippets.SNIPPETS.items()
}


class BargeIn(Step):
    key, order, points = "barge-in", 8, 10
    title = N_("Closing is cancelling")
    goal = N_("Close a stream in the middle, see the slot fall idle, and tell which code really stops the server.")
    rounds: Sequence[Round] = (CutRound(), Stop())
    needs = frozenset({"cancel"})
    budget_ms = 6_000

    def examples(self) -> Sequence[Example]:
        from labs.steps.examples import barge_in

        return barge_in.examples(self)
