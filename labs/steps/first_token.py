"""Step 3: what is in a TTFT, and which frame it ends at (lab.md 3)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from labs.grading.checks import Check
from labs.grading.line import measured_fault
from labs.grading.sane import Fault
from labs.grading.split import (
    NOTHING,
    PART_SHARE,
    REST_SLACK_US,
    first_token_frame,
    hidden_us,
    is_near,
    no_first_token,
    read_parts,
    wait_fault,
    within,
)
from labs.measure.plan import Ask, Hold, Plan
from labs.measure.recording import Frame
from labs.steps import corpus, tables
from labs.steps.base import Example, Exhibit, Round, Seen, Step, StepForm
from labs.steps.claims import first_token as claims
from labs.steps.fields import FramePick, MsField, ProseField
from labs.steps.prompts import as_text, with_documents
from labs.steps.tables import in_ms
from labs.steps.widgets import NONE_OF_THESE
from labs.text import N_, Json

DOCUMENTS, PROMPT_TOKENS = 4, 170
COLD = tuple(f"cold-{i}" for i in range(1, 6))
# A read may bring two events of 300 characters: the first text often comes behind the last role frame.
SHOWN_CHARACTERS = 2_000
SHORT_SLACK_MS = 1.0


class PredictForm(StepForm):
    first_frame_ms = MsField(label=_("After how many milliseconds does the very first frame arrive?"))
    first_token_ms = MsField(label=_("After how many milliseconds does the first visible text arrive?"))
    question = ProseField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
        label=_("Your question to the model"),
        help_text=_("You may write your own. A longer prompt takes longer to read."),
    )

    def build(self) -> None:
        self.fields["question"].initial = self.challenge["question"]

    def answers(self) -> Json:
        return {**self.cleaned_data, "question": self.cleaned_data["question"] or self.challenge["question"]}


class Predict(Round):
    key, title, Form = "predict", N_("Guess, then five cold asks"), PredictForm

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        return {"documents": corpus.documents(rng, DOCUMENTS), "question": corpus.question(rng, DOCUMENTS)}

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        text = as_text(with_documents(challenge["documents"], challenge["question"]))
        return [Exhibit(_("Your prompt, sent five times with the cache off"), "prompt", text)]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        return {"first_frame_ms": "5", "first_token_ms": "700", "question": challenge["question"]}

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan:
        messages = with_documents(challenge["documents"], answers["question"])
        return Plan(
            tuple(
                Ask(
                    key,
                    messages,
                    4,
                    cache=False,
                    about_prompt_tokens=PROMPT_TOKENS,
                    title=N_("Cold ask %(i)s of 5", i=i),
                )
                for i, key in enumerate(COLD, 1)
            )
        )

    def grade(self, seen: Seen) -> Iterator[Check]:
        run, answers = seen[self.key].run, seen[self.key].answers
        if run is None:
            return
        asks = [run[key] for key in COLD]
        ttfts_ms = sorted(in_ms(a.figures.ttft_us) for a in asks if a.figures.ttft_us is not None)
        fault = measured_fault(run, asks)
        median_ms = ttfts_ms[len(ttfts_ms) // 2] if ttfts_ms else 0
        yield claims.PREDICTED.settle(
            fault,
            True,
            N_(
                "You guessed %(guess)s ms for the first text; the middle one of five took %(median)s ms.",
                guess=answers["first_token_ms"],
                median=median_ms,
            ),
            N_("No guess was made."),
            {
                "saw": {"ttft_ms": ttfts_ms, "guess_ms": answers["first_token_ms"]},
                "rule": N_("guessed before the run").to_json(),
            },
        )


class MarkForm(StepForm):
    def build(self) -> None:
        rows = [
            {"at_ms": in_ms(f["at_us"]), "text": f["text"][:SHOWN_CHARACTERS]}
            for f in self.challenge["frames"]
        ]
        self.fields["frame"] = FramePick(rows, label=_("Which frame ends the TTFT?"))
        self.fields["too_short_ms"] = MsField(
            label=_("How many milliseconds too short would the TTFT be if the first role frame counted?")
        )


class Mark(Round):
    key, title, Form = "mark", N_("Find the first token"), MarkForm

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        run = seen.run_of("predict")
        shown = [key for key in COLD if run[key].figures.ttft_us is not None] or list(COLD)
        ask = rng.choice(shown)
        frames = [{"at_us": f.at_us, "text": f.data.decode("utf-8", "replace")} for f in run[ask].frames]
        return {"ask": ask, "frames": frames, "documents": corpus.documents(rng, DOCUMENTS)}

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        frame = first_token_frame(_frames(challenge))
        short_us = hidden_us(seen.run_of("predict")[challenge["ask"]])
        return {"frame": NONE_OF_THESE if frame is None else frame, "too_short_ms": in_ms(short_us)}

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan:
        busy = (
            {"role": "system", "content": "Tell long stories."},
            {"role": "user", "content": "Tell me about a lighthouse and a whale."},
        )
        waits = with_documents(challenge["documents"], seen["predict"].challenge["question"])
        return Plan(
            (
                Ask(
                    "busy",
                    busy,
                    100,
                    cache=False,
                    ignore_eos=True,
                    end=Hold(until="waits", read=True),
                    about_prompt_tokens=28,
                    title=N_("A long answer keeps the slot busy"),
                ),
                Ask(
                    "waits",
                    waits,
                    4,
                    cache=False,
                    about_prompt_tokens=PROMPT_TOKENS,
                    title=N_("Your ask, on the same slot"),
                ),
            )
        )

    def grade(self, seen: Seen) -> Iterator[Check]:
        answers, challenge, run = seen[self.key].answers, seen[self.key].challenge, seen[self.key].run
        ask = seen.run_of("predict")[challenge["ask"]]
        right, short_us = first_token_frame(_frames(challenge)), hidden_us(ask)
        fault = no_first_token(ask)
        saw = {"frame": answers["frame"], "first_token_frame": right, "ttft_us": ask.figures.ttft_us}
        yield claims.FRAME.settle(
            fault,
            answers["frame"] == right,
            N_("You found the frame with the first visible text."),
            claims.why_not_first(answers["frame"], right),
            {"saw": saw, "rule": N_("first frame whose `content` is text and not empty").to_json()},
        )
        no_role = Fault(N_("This run has no role frame, so there is nothing to compare with."))
        short_ms, said_ms = in_ms(short_us), answers["too_short_ms"]
        yield claims.TOO_SHORT.settle(
            fault or (no_role if short_us is None else None),
            within(said_ms, short_ms, SHORT_SLACK_MS),
            N_(
                "Counting the role frame would make the TTFT %(short)s ms too short, as you said.",
                short=short_ms,
            ),
            N_(
                "You said %(said)s ms. Take the time of the first frame with a role from that of the first text.",
                said=said_ms,
            ),
            {
                "saw": {"said_ms": said_ms, "role_us": ask.figures.role_us, "short_us": short_us},
                "rule": N_("first token - role frame").to_json(),
                "limit": {"ms": SHORT_SLACK_MS},
            },
        )
        if run is not None:
            waits = run["waits"]
            parts = read_parts(waits)
            yield claims.QUEUED.settle(
                wait_fault(run, "waits"),
                True,
                N_(
                    "The second request waited %(wait)s ms for the slot.",
                    wait=in_ms(parts.wait_us) if parts else 0,
                ),
                N_("The second request did not wait."),
                {
                    "saw": {"headers_us": waits.figures.headers_us},
                    "rule": N_("wait = headers - sent, at least 200 ms").to_json(),
                },
            )


PARTS = [("wait", _("the wait")), ("prefill", _("the prefill")), ("rest", _("the rest"))]


class SplitForm(StepForm):
    wait_ms = MsField(label=_("The wait: from sent until the slot began, in milliseconds"))
    prefill_ms = MsField(label=_("The prefill: computing the prompt, in milliseconds"))
    rest_ms = MsField(label=_("The rest, until the text was here, in milliseconds"), least=-10_000)
    unknown = forms.ChoiceField(
        choices=PARTS,
        widget=forms.RadioSelect,
        label=_(
            "Which part grows while others are being answered, and is unknown to the server's prompt_ms?"
        ),
        error_messages={"required": _("Choose one part.")},
    )


class Split(Round):
    key, title, Form = "split", N_("Split the TTFT"), SplitForm

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        waits = seen.run_of("mark")["waits"]
        return [tables.moments(waits), tables.timings(waits)]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        parts = read_parts(seen.run_of("mark")["waits"]) or NOTHING
        return {**{f"{part}_ms": in_ms(us) for part, us in parts.to_json().items()}, "unknown": "wait"}

    def grade(self, seen: Seen) -> Iterator[Check]:
        answers, run = seen[self.key].answers, seen.run_of("mark")
        parts, fault = read_parts(run["waits"]) or NOTHING, wait_fault(run, "waits")
        for claim in (claims.WAIT, claims.PREFILL, claims.REST):
            part, said_ms = claim.key, answers[f"{claim.key}_ms"]
            yield claim.settle(
                fault,
                is_near(part, said_ms * 1000, parts),
                N_(
                    "You said %(said)s ms; it was %(truth)s ms.",
                    said=said_ms,
                    truth=in_ms(parts.to_json()[part]),
                ),
                claims.why_off(part, said_ms),
                {
                    "saw": {"said_ms": said_ms, "parts_us": parts.to_json()},
                    "rule": N_(
                        "wait = headers - sent; prefill = prompt_ms; rest = TTFT - wait - prefill"
                    ).to_json(),
                    "limit": {"share": PART_SHARE, "rest_us": REST_SLACK_US},
                },
            )
        yield claims.UNKNOWN.settle(
            fault,
            answers["unknown"] == "wait",
            N_("Right: the server's clock starts when the slot begins, so it never sees the wait."),
            N_(
                "Compare with a request that need not wait: another part is longer here, and prompt_ms is not. Choose "
                "that part."
            ),
            {
                "saw": {"said": answers["unknown"]},
                "rule": N_("prompt_ms runs from the slot's start to the first token").to_json(),
            },
        )


def _frames(challenge: Json) -> list[Frame]:
    return [Frame(f["at_us"], f["text"].encode()) for f in challenge["frames"]]


class FirstToken(Step):
    key, order, points = "first-token", 3, 10
    title = N_("What is in a TTFT?")
    goal = N_("Find the frame that ends the TTFT, and split it into wait, prefill and the rest.")
    rounds = (Predict(), Mark(), Split())
    needs = frozenset({"slots", "content"})
    budget_ms = 6_000

    def examples(self) -> Sequence[Example]:
        from labs.steps.examples import first_token

        return first_token.examples(self)
