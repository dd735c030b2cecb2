"""Step 3: what is in a TTFT, and which frame it ends at (lab.md 3)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from labs.grading.checks import Check, Verdict
from labs.grading.claim import Claim
from labs.grading.sane import Fault, alone, first_fault, ours, uncached, whole
from labs.grading.split import (
    first_token_frame,
    has_waited,
    no_first_token,
    read_parts,
    within,
    within_share,
)
from labs.measure.plan import Ask, Hold, Plan
from labs.measure.recording import Frame, Recording, RunRecord
from labs.steps import corpus, recorded
from labs.steps.base import Example, Exhibit, Round, Seen, Step, StepForm
from labs.steps.examples import ModelServer, played, with_verdict
from labs.steps.fields import NONE_OF_THESE, FramePick, MsField
from labs.steps.prompts import as_text, with_documents
from labs.text import N_, Json

DOCUMENTS = 4
COLD = tuple(f"cold-{i}" for i in range(1, 6))
SHOWN_CHARACTERS = 240
PART_SHARE, REST_SLACK_US, SHORT_SLACK_MS = 0.10, 10_000, 1.0


class PredictForm(StepForm):
    first_frame_ms = MsField(label=_("After how many milliseconds does the very first frame arrive?"))
    first_token_ms = MsField(label=_("After how many milliseconds does the first visible text arrive?"))


class Predict(Round):
    key, title, Form = "predict", N_("Guess, then five cold asks"), PredictForm

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        return {"documents": corpus.documents(rng, DOCUMENTS), "question": corpus.question(rng, DOCUMENTS)}

    def exhibits(self, challenge: Json, seen: Seen) -> Sequence[Exhibit]:
        text = as_text(with_documents(challenge["documents"], challenge["question"]))
        return [Exhibit(_("Your prompt, sent five times with the cache off"), "prompt", text)]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        return {"first_frame_ms": "5", "first_token_ms": "700"}

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan:
        messages = with_documents(challenge["documents"], challenge["question"])
        return Plan(
            tuple(
                Ask(
                    key,
                    messages,
                    4,
                    cache=False,
                    about_prompt_tokens=160,
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
        ttfts_ms = sorted(_ms(a.figures.ttft_us) for a in asks if a.figures.ttft_us is not None)
        fault = first_fault(
            alone(run), *(f(a) for a in asks for f in (ours, whole, uncached)), no_first_token(*asks)
        )
        median_ms = ttfts_ms[len(ttfts_ms) // 2] if ttfts_ms else 0
        yield PREDICTED.settle(
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
                "rule": "guessed before the run",
            },
        )


class MarkForm(StepForm):
    def build(self) -> None:
        rows = [
            {"at_ms": _ms(f["at_us"]), "text": f["text"][:SHOWN_CHARACTERS]} for f in self.challenge["frames"]
        ]
        self.fields["frame"] = FramePick(rows, label=_("Which frame ends the TTFT?"))
        self.fields["too_short_ms"] = MsField(
            label=_("How many milliseconds too short would the TTFT be if the first role frame counted?")
        )


class Mark(Round):
    key, title, Form = "mark", N_("Find the first token"), MarkForm

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        run = _run(seen, "predict")
        shown = [key for key in COLD if run[key].figures.ttft_us is not None] or list(COLD)
        ask = rng.choice(shown)
        frames = [{"at_us": f.at_us, "text": f.data.decode("utf-8", "replace")} for f in run[ask].frames]
        return {"ask": ask, "frames": frames, "documents": corpus.documents(rng, DOCUMENTS)}

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        frame = first_token_frame(_frames(challenge))
        short_us = _short_us(_run(seen, "predict")[challenge["ask"]])
        return {"frame": NONE_OF_THESE if frame is None else frame, "too_short_ms": _ms(short_us or 0)}

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan:
        busy = (
            {"role": "user", "content": "Tell me a long story about the keeper of a lighthouse and a whale."},
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
                    about_prompt_tokens=45,
                    title=N_("A long answer keeps the slot busy"),
                ),
                Ask(
                    "waits",
                    waits,
                    4,
                    cache=False,
                    about_prompt_tokens=160,
                    title=N_("Your ask, on the same slot"),
                ),
            )
        )

    def grade(self, seen: Seen) -> Iterator[Check]:
        answers, challenge, run = seen[self.key].answers, seen[self.key].challenge, seen[self.key].run
        ask = _run(seen, "predict")[challenge["ask"]]
        right, short_us = first_token_frame(_frames(challenge)), _short_us(ask)
        fault = no_first_token(ask)
        saw = {"frame": answers["frame"], "first_token_frame": right, "ttft_us": ask.figures.ttft_us}
        yield FRAME.settle(
            fault,
            answers["frame"] == right,
            N_("You found the frame with the first visible text."),
            N_("The frame you picked is not the first one with visible text in it."),
            {"saw": saw, "rule": "first frame whose `content` is text and not empty"},
        )
        no_role = Fault(N_("This run has no role frame, so there is nothing to compare with."))
        short_ms = _ms(short_us or 0)
        yield TOO_SHORT.settle(
            fault or (no_role if short_us is None else None),
            within(answers["too_short_ms"], short_ms, SHORT_SLACK_MS),
            N_(
                "Counting the role frame would make the TTFT %(short)s ms too short, as you said.",
                short=short_ms,
            ),
            N_(
                "You said %(said)s ms, which is not the time between the two frames.",
                said=answers["too_short_ms"],
            ),
            {
                "saw": {
                    "said_ms": answers["too_short_ms"],
                    "role_us": ask.figures.role_us,
                    "short_us": short_us,
                },
                "rule": "first token - role frame",
                "limit": {"ms": SHORT_SLACK_MS},
            },
        )
        if run is not None:
            waits = run["waits"]
            parts = read_parts(waits)
            yield QUEUED.settle(
                _wait_fault(run),
                True,
                N_(
                    "The second request waited %(wait)s ms for the slot.",
                    wait=_ms(parts.wait_us) if parts else 0,
                ),
                N_("The second request did not wait."),
                {
                    "saw": {"headers_us": waits.figures.headers_us},
                    "rule": "wait = headers - sent, at least 200 ms",
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
        waits = _run(seen, "mark")["waits"]
        seen_, sent = waits.figures, waits.sent_at_us
        moments = [
            (_("the request's last byte left"), 0),
            (_("the answer's headers arrived"), seen_.headers_us),
            (_("the first role frame arrived"), seen_.role_us),
            (_("the first visible text arrived"), seen_.first_token_us),
            (_("the stream ended"), seen_.end_us),
        ]
        timings = {
            "cache_n": seen_.cache_n,
            "prompt_n": seen_.prompt_n,
            "prompt_ms": seen_.prompt_ms,
            "predicted_n": seen_.predicted_n,
            "predicted_ms": seen_.predicted_ms,
        }
        return [
            Exhibit(
                _("Your second request, on the run's clock"),
                "table",
                head=(_("what"), _("at, ms")),
                rows=[(str(what), None if at is None else _ms(sent + at)) for what, at in moments],
                note=_("The server sends the headers when the slot begins to work on the request."),
            ),
            Exhibit(_("What the server says of it (timings)"), "code", json.dumps(timings, indent=1)),
        ]

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        parts = read_parts(_run(seen, "mark")["waits"])
        if parts is None:
            return {"wait_ms": 0, "prefill_ms": 0, "rest_ms": 0, "unknown": "wait"}
        shares = {"wait_ms": parts.wait_us, "prefill_ms": parts.prefill_us, "rest_ms": parts.rest_us}
        return {**{name: _ms(us) for name, us in shares.items()}, "unknown": "wait"}

    def grade(self, seen: Seen) -> Iterator[Check]:
        answers, run = seen[self.key].answers, _run(seen, "mark")
        parts, fault = read_parts(run["waits"]), _wait_fault(run)
        truth = {"wait": 0, "prefill": 0, "rest": 0}
        if parts is not None:
            truth = {"wait": parts.wait_us, "prefill": parts.prefill_us, "rest": parts.rest_us}
        said = {part: answers[f"{part}_ms"] * 1000 for part in truth}
        for claim in (WAIT, PREFILL, REST):
            part = claim.key
            near = (
                within(said[part], truth[part], REST_SLACK_US)
                if part == "rest"
                else within_share(said[part], truth[part], PART_SHARE)
            )
            yield claim.settle(
                fault,
                near,
                N_(
                    "You said %(said)s ms; it was %(truth)s ms.", said=_ms(said[part]), truth=_ms(truth[part])
                ),
                N_(
                    "You said %(said)s ms, which does not follow from the times and timings shown.",
                    said=_ms(said[part]),
                ),
                {
                    "saw": {"said_us": round(said[part]), "parts_us": truth},
                    "rule": "wait = headers - sent; prefill = prompt_ms; rest = TTFT - wait - prefill",
                    "limit": {"share": PART_SHARE, "rest_us": REST_SLACK_US},
                },
            )
        yield UNKNOWN.settle(
            fault,
            answers["unknown"] == "wait",
            N_("Right: the server's clock starts when the slot begins, so it never sees the wait."),
            N_(
                "Compare with a request that need not wait: another part grows, and prompt_ms stays as it was."
            ),
            {
                "saw": {"said": answers["unknown"]},
                "rule": "prompt_ms runs from the slot's start to the first token",
            },
        )


def _ms(us: float | None) -> float:
    return round((us or 0) / 1000, 1)


def _run(seen: Seen, key: str) -> RunRecord:
    """The run of a round that must have been recorded before this one opened."""
    run = seen[key].run
    if run is None:
        raise ValueError(f"round {key} has no run yet")
    return run


def _frames(challenge: Json) -> list[Frame]:
    return [Frame(f["at_us"], f["text"].encode()) for f in challenge["frames"]]


def _short_us(ask: Recording) -> int | None:
    seen = ask.figures
    return None if seen.ttft_us is None or seen.role_us is None else seen.ttft_us - seen.role_us


def _wait_fault(run: RunRecord) -> Fault | None:
    waits = run["waits"]
    return first_fault(alone(run), ours(waits), whole(waits), uncached(waits), has_waited(waits))


PREDICTED = Claim("predicted", "predict", N_("You guessed before you saw"), 2)
FRAME = Claim(
    "frame",
    "predict",
    N_("The frame that ends the TTFT"),
    2,
    (
        N_("Look into each frame: which ones carry text that a person could read?"),
        N_("Role and progress frames have an empty content. Take the first one whose content is not empty."),
    ),
)
TOO_SHORT = Claim(
    "too-short",
    "predict",
    N_("What counting the role frame would hide"),
    2,
    (
        N_("Two frames matter: the first one with a role, and the first one with text."),
        N_("Subtract the time of the role frame from the time of the first text."),
    ),
)
QUEUED = Claim("queued", "mark", N_("The second request had to wait"), 0)
SPLIT_HINTS = (
    N_("The server sends its headers the moment a slot begins with the request."),
    N_("wait = headers - sent; prefill is a figure of the server; the rest is what remains of the TTFT."),
)
WAIT = Claim("wait", "mark", N_("The wait"), 1, SPLIT_HINTS)
PREFILL = Claim("prefill", "mark", N_("The prefill"), 1, SPLIT_HINTS)
REST = Claim("rest", "mark", N_("The rest"), 1, SPLIT_HINTS)
UNKNOWN = Claim(
    "unknown",
    "mark",
    N_("What prompt_ms does not know"),
    1,
    (
        N_("When does the server start its own clock?"),
        N_("It starts when the slot begins. What lies before that?"),
    ),
)

KEYS = ("predicted", "frame", "too-short", "queued", "wait", "prefill", "rest", "unknown")
PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


class FirstToken(Step):
    key, order, points = "first-token", 3, 10
    title = N_("What is in a TTFT?")
    goal = N_("Find the frame that ends the TTFT, and split it into wait, prefill and the rest.")
    rounds: Sequence[Round] = (Predict(), Mark(), Split())
    budget_ms = 6_000

    def examples(self) -> Sequence[Example]:
        return [
            played(self, "model answers", "pass", with_verdict(KEYS, PASS)),
            played(
                self,
                "role frame taken for the first token",
                "fail",
                with_verdict(KEYS, PASS, frame=FAIL, too_short=FAIL),
                answers={"mark": {"frame": 0, "too_short_ms": 0}},
            ),
            played(
                self,
                "none of these, and the TTFT itself as the difference",
                "fail",
                with_verdict(KEYS, PASS, frame=FAIL, too_short=FAIL),
                answers={"mark": {"frame": NONE_OF_THESE, "too_short_ms": lambda ms, _challenge: ms + 3.1}},
            ),
            played(
                self,
                "wait and prefill swapped, prefill blamed",
                "fail",
                with_verdict(KEYS, PASS, wait=FAIL, prefill=FAIL, rest=FAIL, unknown=FAIL),
                answers={
                    "split": {
                        "wait_ms": lambda ms, _challenge: ms * 0.7,
                        "prefill_ms": lambda ms, _challenge: ms * 1.3,
                        "rest_ms": lambda ms, _challenge: ms + 40,
                        "unknown": "prefill",
                    }
                },
            ),
            played(
                self,
                "no visible text",
                "inconclusive",
                with_verdict(KEYS, OPEN),
                server=ModelServer(writes_text=False),
            ),
            played(
                self,
                "the second request did not wait",
                "inconclusive",
                with_verdict(KEYS, OPEN, predicted=PASS, frame=PASS, too_short=PASS),
                server=ModelServer(queues=False),
            ),
            played(
                self,
                "a stranger on the server",
                "inconclusive",
                with_verdict(KEYS, OPEN, frame=PASS, too_short=PASS),
                server=ModelServer(stranger=True),
            ),
            played(
                self,
                "no /slots",
                "inconclusive",
                with_verdict(KEYS, OPEN, frame=PASS, too_short=PASS),
                server=ModelServer(has_slots=False),
            ),
            *recorded.examples(self.key),
        ]
