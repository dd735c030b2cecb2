"""Step 1: what answers me, and what does it say of itself? (lab.md 1)"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from labs.grading.checks import Check
from labs.grading.sane import Fault
from labs.grading.state import State, read_state
from labs.measure.plan import Get, Plan
from labs.measure.recording import RunRecord
from labs.steps.base import Example, Exhibit, Round, Seen, Step, StepForm
from labs.steps.claims import server_up as claims
from labs.steps.fields import OneOf, TokensField
from labs.text import N_, Json

MOST_STUDENTS = 200
# Small enough for any slot, and not a round number that one could have guessed.
HELD_TOKENS, STUDENTS = range(101, 400), range(9, 41)
DEFAULT_LIMIT_MIB = 8192
NOBODY = State(0, 0)


class StudentsField(forms.IntegerField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            min_value=0,
            max_value=MOST_STUDENTS,
            error_messages={
                "required": _("Write a number of students."),
                "invalid": _("Write a number of students."),
            },
            **kwargs,
        )


class LookForm(StepForm):
    def build(self) -> None:
        self.fields["more_tokens"] = TokensField(
            most=1_000_000,
            label=_("A conversation holds %(held)s tokens already. How many more will fit into it?")
            % self.challenge,
        )
        self.fields["waiting"] = StudentsField(
            label=_("%(students)s students press Run at the same moment. How many of them will have to wait?")
            % self.challenge
        )


class Look(Round):
    key, title, Form = "look", N_("Guess, then ask the server"), LookForm

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        return {"held": rng.choice(HELD_TOKENS), "students": rng.choice(STUDENTS)}

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        return {"more_tokens": 2000, "waiting": challenge["students"] - 4}

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan:
        return Plan((Get("health", "health"), Get("props", "props"), Get("slots", "slots")))

    def grade(self, seen: Seen) -> Iterator[Check]:
        run = seen[self.key].run
        if run is None:
            return
        state = read_state(run)
        yield claims.SAVED.settle(
            state if isinstance(state, Fault) else None,
            True,
            N_("The server is well, and its answers are saved as they came."),
            N_("The server's answers are missing."),
            {
                "saw": {key: len(got.body.encode()) for key, got in run.recordings.items()},
                "rule": N_("status ok; /props and /slots agree; figures are bytes").to_json(),
            },
        )


LOADING = [
    ("refused", _("nothing: the connection is refused, because the server has crashed")),
    ("not-ready", _("503 'Loading model': the process is there, and becomes 200 by itself when it is ready")),
    ("broken", _("503 'Loading model': the model file is broken, and only a restart will help")),
    ("ok", _("200 'ok': the first request will wait until the model is there")),
]
FLAGS = [
    ("ctx-size", "--ctx-size"),
    ("cache-reuse", "--cache-reuse"),
    ("cache-ram", "--cache-ram"),
    ("slot-save-path", "--slot-save-path"),
]


class ReadForm(StepForm):
    def build(self) -> None:
        asked = self.seen["look"].challenge
        self.fields["more_tokens"] = TokensField(
            most=1_000_000,
            label=_("A conversation holds %(held)s tokens already. How many more fit into it?") % asked,
        )
        self.fields["waiting"] = StudentsField(
            label=_("%(students)s students press Run at the same moment. How many of them must wait?") % asked
        )
        self.fields["loading"] = OneOf(
            LOADING, label=_("A server has just been started. What does its /health say, and why?")
        )
        self.fields["flag"] = OneOf(
            FLAGS,
            label=_("Which flag, set to 0, keeps old prompts from coming back out of the host's memory?"),
        )
        self.fields["limit_mib"] = forms.IntegerField(
            min_value=0,
            max_value=10**9,
            label=_("How much memory may that take, in MiB, where nobody sets the flag?"),
            error_messages={
                "required": _("Write a number of MiB."),
                "invalid": _("Write a number of MiB."),
            },
        )


class Read(Round):
    key, title, Form = "read", N_("Read what it said"), ReadForm

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        run = seen.run_of("look")
        return [Exhibit(f"/{key}", "code", _on_lines(run[key].body)) for key in ("health", "props", "slots")]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        asked, state = seen["look"].challenge, _state(seen.run_of("look"))
        return {
            "more_tokens": max(state.share_tokens - asked["held"], 0),
            "waiting": state.waiting(asked["students"]),
            "loading": "not-ready",
            "flag": "cache-ram",
            "limit_mib": DEFAULT_LIMIT_MIB,
        }

    def grade(self, seen: Seen) -> Iterator[Check]:
        answers, asked, found = (
            seen[self.key].answers,
            seen["look"].challenge,
            read_state(seen.run_of("look")),
        )
        fault, state = (found, NOBODY) if isinstance(found, Fault) else (None, found)
        yield _share(fault, state, asked, answers["more_tokens"])
        yield _waiting(fault, state, asked, answers["waiting"])
        yield claims.LOADING.settle(
            None,
            answers["loading"] == "not-ready",
            N_("Right: 503 says 'not yet', and asking again in a moment is all there is to do."),
            N_(
                "The process answers as soon as it runs, long before its model is loaded. Choose what it says until "
                "then, and what has to be done about it."
            ),
            {"saw": {"said": answers["loading"]}, "rule": N_("503 while loading, then 200").to_json()},
        )
        yield claims.FLAG.settle(
            None,
            answers["flag"] == "cache-ram",
            N_("Right: with --cache-ram 0 the server keeps prompts in its slots only."),
            N_(
                "--%(flag)s does something else. Choose the flag that limits what is kept in the host's memory.",
                flag=answers["flag"],
            ),
            {
                "saw": {"said": answers["flag"]},
                "rule": N_("--cache-ram 0 switches the host prompt cache off").to_json(),
            },
        )
        yield claims.LIMIT.settle(
            None,
            answers["limit_mib"] == DEFAULT_LIMIT_MIB,
            N_("Right: 8,192 MiB, four times what LabHub's pod has."),
            N_(
                "You said %(said)s MiB. The page names the limit that holds where nobody sets one; give it in MiB.",
                said=answers["limit_mib"],
            ),
            {"saw": {"said": answers["limit_mib"]}, "limit": {"mib": DEFAULT_LIMIT_MIB}},
        )


def _share(fault: Fault | None, state: State, asked: Json, said: int) -> Check:
    right = state.share_tokens - asked["held"]
    whole = state.share_tokens * state.slots - asked["held"]
    failed = N_(
        "You said %(said)s. Subtract what the conversation holds from the n_ctx of one slot.", said=said
    )
    if state.slots > 1 and said in (whole, whole + asked["held"]):
        failed = N_(
            "You counted the context of the whole server; one conversation has only its slot's share of it. Take the "
            "n_ctx of one slot."
        )
    return claims.SHARE.settle(
        fault,
        said == right,
        N_(
            "Right: one slot holds %(share)s tokens, so %(right)s more fit.",
            share=state.share_tokens,
            right=right,
        ),
        failed,
        {
            "saw": {**state.to_json(), "held": asked["held"], "said": said},
            "rule": N_("n_ctx of one slot - tokens held").to_json(),
        },
    )


def _waiting(fault: Fault | None, state: State, asked: Json, said: int) -> Check:
    right = state.waiting(asked["students"])
    return claims.WAITING.settle(
        fault,
        said == right,
        N_("Right: %(slots)s are answered at once and %(right)s wait.", slots=state.slots, right=right),
        N_(
            "You said %(said)s. Count the slots: that many are answered at once, and all others wait.",
            said=said,
        ),
        {
            "saw": {**state.to_json(), "students": asked["students"], "said": said},
            "rule": N_("students - slots").to_json(),
        },
    )


def _state(run: RunRecord) -> State:
    found = read_state(run)
    return NOBODY if isinstance(found, Fault) else found


def _on_lines(body: str) -> str:
    """The answer as it came, but spread over lines for reading; what is not JSON stays as it is."""
    try:
        return json.dumps(json.loads(body), indent=1, ensure_ascii=False)
    except ValueError:
        return body


class ServerUp(Step):
    key, order, points = "server-up", 1, 5
    title = N_("What answers me?")
    goal = N_("Ask the model server how it is, what it can hold, and how many it can serve at once.")
    rounds = (Look(), Read())
    needs = frozenset({"slots"})
    budget_ms = 0  # nothing is computed

    def examples(self) -> Sequence[Example]:
        from labs.steps.examples import server_up

        return server_up.examples(self)
