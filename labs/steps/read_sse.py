"""Step 2: write `sse.py`, which reads a stream line by line (lab.md 2). The student's code runs in browsers only."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _

from labs.grading.checks import Check, Verdict
from labs.grading.sane import Fault
from labs.measure.plan import Ask, Plan
from labs.measure.reading import Reading, lines_of, read_stream
from labs.steps import recorded
from labs.steps.base import Example, Rerun, Round, RoundSeen, Seen, Step
from labs.steps.examples import played, with_verdict
from labs.steps.examples.server import ModelServer
from labs.steps.fields import MsField
from labs.steps.sse_kit.alike import shape
from labs.steps.sse_kit.claims import MS_PER_TOKEN, RECORDING, STREAMS, Streamed
from labs.steps.sse_kit.compare import problem, right_value
from labs.steps.sse_kit.draw import draw_streams, frames_of
from labs.steps.sse_kit.forms import SourceForm, files
from labs.steps.sse_kit.source import source
from labs.steps.sse_kit.times import SLACK_MS
from labs.text import N_, Json

QUESTIONS = (
    "Name three things that people borrow from a library.",
    "What does a lighthouse keeper do in the night?",
    "Why do people whisper in a quiet reading room?",
    "How does a bookmobile driver choose where to stop?",
)
ANSWER_TOKENS, TOKEN_SHARE = 24, 0.02


class Streams(Round):
    key, title, Form = "streams", N_("Your code on fresh streams"), SourceForm
    keeps = frozenset({"source"})

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        return {**draw_streams(rng), "question": rng.choice(QUESTIONS)}

    def files(self, challenge: Json, seen: Seen) -> Mapping[str, str]:
        return files({name: challenge[name] for name in ("parse", "feed")})

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        return {"source": source("solution"), "results": _right_results(challenge)}

    def plan(self, challenge: Json, answers: Json, seen: Seen) -> Plan:
        """The student's own recording, for the next round."""
        ask = Ask(
            "own",
            ({"role": "user", "content": challenge["question"]},),
            ANSWER_TOKENS,
            cache=False,
            about_prompt_tokens=40,
            title=N_("Your own recording"),
        )
        return Plan((ask,))

    def grade(self, seen: Seen) -> Iterator[Check]:
        locked = seen[self.key]
        results = locked.answers["results"]
        for streamed in STREAMS:
            if streamed.function in results:
                reading = _read(locked.challenge, streamed)
                yield _judged(streamed, results[streamed.function].get(streamed.stream), reading)


class OwnForm(SourceForm):
    def build(self) -> None:
        super().build()
        self.fields["ms_per_token"] = MsField(
            label=_("How many milliseconds did one token take, after the first?"),
            help_text=_(
                "From what your code found: the time from the first piece to the last one, over predicted_n - 1. The "
                "server counts tokens; a piece may hold none, one or several."
            ),
        )


class Own(Round):
    key, title, Form = "own", N_("Your code on your own recording"), OwnForm

    def challenge(self, rng: random.Random, seen: Seen) -> Json:
        run = seen["streams"].run
        recording = run.get("own") if run is not None else None
        frames = recording.frames if recording is not None else ()
        return {"parse": {"own": [[at_us / 1000, line] for at_us, line in lines_of(frames)]}}

    def files(self, challenge: Json, seen: Seen) -> Mapping[str, str]:
        return files(challenge)

    def sample(self, challenge: Json, seen: Seen, tokens: Any = None) -> Mapping[str, Any]:
        us_per_token = _read(challenge, RECORDING).us_per_token or 0
        return {
            "source": source("solution"),
            "results": _right_results(challenge),
            "ms_per_token": round(us_per_token / 1000, 3),
        }

    def grade(self, seen: Seen) -> Iterator[Check]:
        locked = seen[self.key]
        reading = _read(locked.challenge, RECORDING)
        gone = None if reading.pieces else NO_TEXT
        yield _judged(RECORDING, locked.answers["results"].get("parse", {}).get("own"), reading, gone)
        said_ms, right_us = locked.answers["ms_per_token"], reading.us_per_token
        right_ms = round((right_us or 0) / 1000, 3)
        yield MS_PER_TOKEN.settle(
            gone or (TOO_SHORT if right_us is None else None),
            abs(said_ms - right_ms) <= TOKEN_SHARE * right_ms,
            N_("Right: %(right)s ms a token, by the server's count.", right=right_ms),
            N_(
                "You said %(said)s ms. Take the time of the last piece less that of the first, and divide by the "
                "server's predicted_n less one, not by the number of pieces.",
                said=said_ms,
            ),
            {
                "saw": {
                    "said_ms": said_ms,
                    "right_ms": right_ms,
                    "pieces": len(reading.pieces),
                    "predicted_n": reading.predicted_n,
                },
                "rule": N_("(time of the last piece - time of the first) / (predicted_n - 1)").to_json(),
                "limit": {"share": TOKEN_SHARE},
            },
        )


def _read(challenge: Json, streamed: Streamed) -> Reading:
    return read_stream(frames_of(streamed.function, challenge[streamed.function][streamed.stream]))


def _judged(streamed: Streamed, answer: Json | None, reading: Reading, fault: Fault | None = None) -> Check:
    found = problem(answer, reading, streamed.fields)
    said = (answer or {}).get("value") or answer or {}
    right = right_value(reading)
    return streamed.claim.settle(
        fault,
        found is None,
        streamed.passed,
        found or streamed.passed,
        {
            "saw": {
                name: _short(said.get(name)) for name in (*streamed.fields, "error", "line") if name in said
            },
            "control": {name: _short(right[name]) for name in streamed.fields},
            "rule": N_("the lab's own reader of the same stream").to_json(),
            "limit": {"ms": SLACK_MS},
        },
    )


def _short(value: Any) -> Any:
    """Evidence is read by people: of a list how long it is, of a text its beginning."""
    if isinstance(value, list):
        return {"count": len(value)}
    return value[:200] if isinstance(value, str) else value


def _right_results(challenge: Json) -> str:
    return json.dumps(
        {
            function: {
                name: {"value": right_value(read_stream(frames_of(function, stream)))}
                for name, stream in challenge[function].items()
            }
            for function in ("parse", "feed")
            if function in challenge
        }
    )


NO_TEXT = Fault(N_("The recording holds no visible text, so there is nothing to read in it."))
TOO_SHORT = Fault(N_("The recorded answer is too short: one token has no time from one to the next."))

CORE = tuple(s.claim.key for s in STREAMS if s.function == "parse")
BONUS = tuple(s.claim.key for s in STREAMS if s.function == "feed")
KEYS = (*CORE, *BONUS, RECORDING.claim.key, MS_PER_TOKEN.key)
PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


class SourcesAgain(Rerun):
    round, answer, bundle = "streams", "source", "build/rerun.mjs"

    def inputs(self, rng: random.Random) -> Json:
        return dict(draw_streams(rng))

    def checks(self, inputs: Json, answer: str, results: str) -> Sequence[Check]:
        form = SourceForm({"source": answer, "results": results}, challenge=inputs, seen=Seen())
        if not form.is_valid():
            raise ValueError(form.errors.as_json())
        locked = RoundSeen(self.round, inputs, form.answers())
        return list(Streams().grade(Seen({self.round: locked})))

    def shape(self, answer: str) -> str:
        return shape(answer)


class ReadSse(Step):
    key, order, points = "read-sse", 2, 20
    bonus: ClassVar[int] = len(BONUS)
    title = N_("Write sse.py")
    goal = N_(
        "Read a stream line by line, with a time for each piece, and find the first token and the server's counters."
    )
    rounds: ClassVar[Sequence[Round]] = (Streams(), Own())
    needs = frozenset({"slots", "content"})
    budget_ms = 500
    bundle = "build/read-sse.mjs"
    rerun = SourcesAgain()

    def examples(self) -> Sequence[Example]:
        def fails(name: str, function: str, stream: str, change: Any) -> Example:
            def changed(results: str, challenge: Json) -> str:
                found = json.loads(results)
                change(found[function][stream], challenge[function][stream])
                return json.dumps(found)

            verdicts = with_verdict(KEYS, PASS) | {f"{function}-{stream}": FAIL}
            return played(self, name, "fail", verdicts, answers={"streams": {"results": changed}})

        return [
            played(self, "model answers", "pass", with_verdict(KEYS, PASS)),
            fails("role frame counted", "parse", "role", lambda a, s: a["value"].update(ttft_ms=s[0][0])),
            fails(
                "an empty piece kept",
                "parse",
                "empty",
                lambda a, s: a["value"]["pieces"].insert(0, [s[0][0], ""]),
            ),
            fails(
                "choices[0] taken blindly",
                "parse",
                "timings",
                lambda a, _s: (a.clear(), a.update(error="IndexError: list index out of range", line=19)),
            ),
            fails("stopped at finish_reason", "parse", "done", lambda a, _s: a["value"].update(done=False)),
            fails(
                "decoded read by read",
                "feed",
                "syllable",
                lambda a, _s: a["value"].update(text="\ufffd\ufffd"),
            ),
            played(
                self,
                "divided by pieces",
                "fail",
                with_verdict(KEYS, PASS, ms_per_token=FAIL),
                answers={"own": {"ms_per_token": lambda ms, _challenge: ms * 1.1 + 1}},
            ),
            played(
                self,
                "no visible text",
                "inconclusive",
                with_verdict(KEYS, PASS, own=OPEN, ms_per_token=OPEN),
                server=ModelServer(writes_text=False),
            ),
            *recorded.examples(self.key),
        ]
