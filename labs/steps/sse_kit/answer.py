"""One answer on its way from llama-server: a clock, and the events so far."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from labs.steps.sse_kit.words import ANSWERS
from labs.text import Json


@dataclass
class Answer:
    """One answer on its way: a clock, and the events so far as (at_ms, text of the event)."""

    rng: random.Random
    at_ms: float = 0.0
    events: list[tuple[float, str]] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.at_ms = round(self.rng.uniform(2, 9), 1)
        self.pieces = list(self.rng.choice(ANSWERS))
        self.id = f"chatcmpl-{self.rng.getrandbits(64):016x}"

    def wait(self, least_ms: float, most_ms: float) -> None:
        self.at_ms = round(self.at_ms + self.rng.uniform(least_ms, most_ms), 1)

    def prefill(self) -> None:
        self.wait(90, 400)

    def put(self, text: str) -> None:
        self.events.append((self.at_ms, text))

    def say(self, obj: Json) -> None:
        self.put("data: " + json.dumps(obj, ensure_ascii=False, separators=(",", ":")))

    def delta(self, delta: Json, finish: str | None = None, **more: object) -> None:
        choice = {"finish_reason": finish, "index": 0, "delta": delta}
        self.say({"choices": [choice], "id": self.id, "object": "chat.completion.chunk", **more})

    def first(self) -> None:
        """Role and text in one piece, as some servers begin: a reader that skips the first piece loses it."""
        self.prefill()
        self.delta({"role": "assistant", "content": self.pieces[0]})

    def rest(self, pieces: Sequence[str] | None = None) -> None:
        for piece in self.pieces[1:] if pieces is None else pieces:
            self.wait(11, 45)
            self.delta({"content": piece})

    def timings(self) -> Json:
        """A piece may carry several tokens and the last token no text: never as many tokens as pieces."""
        predicted_n = len(self.pieces) + self.rng.randint(2, 6)
        prompt_n, cache_n = self.rng.randint(30, 400), self.rng.choice((0, self.rng.randint(8, 60)))
        return {
            "cache_n": cache_n,
            "prompt_n": prompt_n,
            "prompt_ms": round(prompt_n * self.rng.uniform(2.5, 5.5), 3),
            "predicted_n": predicted_n,
            "predicted_ms": round(predicted_n * self.rng.uniform(8, 20), 3),
        }

    def finish(self) -> None:
        """The last piece has a choice and the timings; a wait later the end."""
        self.wait(5, 20)
        self.delta({}, "stop", timings=self.timings())
        self.put("data: [DONE]")


def plain(answer: Answer) -> Answer:
    answer.first()
    answer.rest()
    answer.finish()
    return answer
