"""The stream of one modelled ask: the frames a llama-server sends with progress and timings for every token."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from labs.measure.figures import read_figures
from labs.measure.recording import Figures, Frame, SlotSample, StreamEnd
from labs.text import Json

BATCH = 128
RELEASE_US = 15_000
WORDS = ("The", " library", " opens", " at", " nine", " and", " closes", " at", " six", ".")


@dataclass(frozen=True, slots=True)
class Timing:
    """When what happens, in microseconds from the request's last byte. `us_per_token` is (reading, writing)."""

    wait_us: int
    n: int
    cache_n: int
    max_tokens: int
    us_per_token: tuple[int, int]
    writes_text: bool = True
    ends_sentences: bool = True

    @property
    def prefill_us(self) -> int:
        return (self.n - self.cache_n) * self.us_per_token[0]

    @property
    def first_us(self) -> int:
        """The first token stands in a frame here."""
        return self.wait_us + self.prefill_us + 3_000

    @property
    def end_us(self) -> int:
        return self.first_us + self.max_tokens * self.us_per_token[1]

    def timings(self, written: int) -> Json:
        return {
            "cache_n": self.cache_n,
            "prompt_n": self.n - self.cache_n,
            "prompt_ms": self.prefill_us / 1000,
            "predicted_n": written,
            "predicted_ms": max(written - 1, 0) * self.us_per_token[1] / 1000,
        }

    def events(self) -> Iterator[tuple[int, Json]]:
        """(at_us, object): progress with the role, tokens, the last piece with the final counters."""
        for done in [*range(self.cache_n, self.n, BATCH), self.n]:
            at_us = self.wait_us + 2_000 + (done - self.cache_n) * self.us_per_token[0]
            progress = {"total": self.n, "cache": self.cache_n, "processed": done, "time_ms": at_us // 1000}
            yield (
                at_us,
                {
                    "choices": [{"delta": {"role": "assistant", "content": None}, "finish_reason": None}],
                    "prompt_progress": progress,
                },
            )
        if self.writes_text:
            for i in range(self.max_tokens):
                delta = {"content": self.word(i)}
                yield (
                    self.first_us + i * self.us_per_token[1],
                    {"choices": [{"delta": delta, "finish_reason": None}], "timings": self.timings(i + 1)},
                )
        yield self.end_us, {"choices": [{"delta": {}, "finish_reason": "length"}]}
        written = self.max_tokens if self.writes_text else 1
        usage = {"prompt_tokens": self.n, "completion_tokens": written}
        yield self.end_us, {"choices": [], "usage": usage, "timings": self.timings(written)}

    def word(self, i: int) -> str:
        """The same sentence again and again, or an answer that never ends one."""
        word = WORDS[i % len(WORDS)]
        if word == "." and not self.ends_sentences:
            return " and"
        return f" {word}" if word == WORDS[0] and i else word

    def stopped(self, at_us: int) -> tuple[int, int]:
        """(`n_prompt_tokens` after release, when the slot is idle) for a close at `at_us` that the server notices."""
        if at_us >= self.first_us:
            return self.n + (at_us - self.first_us) // self.us_per_token[1] + 1, at_us + RELEASE_US
        batch_us = BATCH * self.us_per_token[0]
        batches = max(at_us - self.wait_us, 0) // batch_us + 1
        return min(self.cache_n + batches * BATCH, self.n), max(
            self.wait_us + batches * batch_us, at_us
        ) + RELEASE_US

    def samples(self, idle_us: int, id_task: int | None) -> tuple[SlotSample, ...]:
        return (SlotSample(0, True, id_task, self.n), SlotSample(idle_us, False, id_task, self.n))


def frames_of(timing: Timing, until_us: int) -> tuple[Frame, ...]:
    frames = [
        Frame(at, b"data: " + json.dumps(obj).encode() + b"\n\n")
        for at, obj in timing.events()
        if at <= until_us
    ]
    if until_us >= timing.end_us:
        frames.append(Frame(timing.end_us, b"data: [DONE]\n\n"))
    return tuple(frames)


def figures_until(timing: Timing, until_us: int, end: StreamEnd) -> Figures:
    headers_us = timing.wait_us if until_us >= timing.wait_us else None
    return read_figures(frames_of(timing, until_us), headers_us=headers_us, end=end, end_us=until_us)
