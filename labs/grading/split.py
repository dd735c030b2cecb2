"""The three parts of a TTFT: wait, prefill and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labs.grading.sane import Fault, first_fault, ours, uncached, undisturbed, whole
from labs.measure.figures import read_figures
from labs.measure.recording import Frame, Recording, RunRecord
from labs.text import N_

# A shorter wait could be the network or the tokenizer: nothing to be taught with it (lab.md 3).
LEAST_WAIT_US = 200_000
PART_SHARE, REST_SLACK_US = 0.10, 10_000


@dataclass(frozen=True, slots=True)
class Parts:
    """Whole microseconds that add up to the TTFT. `rest_us` may be slightly below zero: two clocks meet there."""

    wait_us: int
    prefill_us: int
    rest_us: int

    def to_json(self) -> dict[str, int]:
        return {"wait": self.wait_us, "prefill": self.prefill_us, "rest": self.rest_us}


NOTHING = Parts(0, 0, 0)


def read_parts(recording: Recording) -> Parts | None:
    """wait = headers - sent; prefill = the server's `prompt_ms`; rest = TTFT less both. None: no first token."""
    seen = recording.figures
    if seen.headers_us is None or seen.prompt_ms is None or seen.ttft_us is None:
        return None
    prefill_us = round(seen.prompt_ms * 1000)
    return Parts(seen.headers_us, prefill_us, seen.ttft_us - seen.headers_us - prefill_us)


def has_waited(recording: Recording) -> Fault | None:
    parts = read_parts(recording)
    if parts is None:
        return no_first_token(recording) or Fault(N_("The server did not say how long it read the prompt."))
    if parts.wait_us < LEAST_WAIT_US:
        return Fault(
            N_(
                "The second request waited only %(wait)s ms: the slot was free too early to show a wait.",
                wait=round(parts.wait_us / 1000),
            )
        )
    return None


def wait_fault(run: RunRecord, key: str) -> Fault | None:
    """Why the ask `key`, which should have waited for its slot, cannot be split."""
    ask = run[key]
    return first_fault(undisturbed(run), ours(ask), whole(ask), uncached(ask), has_waited(ask))


def hidden_us(recording: Recording) -> int | None:
    """How much too short the TTFT would be if the first role frame counted. None without either frame."""
    seen = recording.figures
    return None if seen.ttft_us is None or seen.role_us is None else seen.ttft_us - seen.role_us


def no_first_token(*recordings: Recording) -> Fault | None:
    """An answer without visible text has no first token; its TTFT is none, not 0."""
    if any(recording.figures.ttft_us is None for recording in recordings):
        return Fault(N_("An answer held no visible text, so it has no first token and no TTFT."))
    return None


def is_near(part: str, said_us: float, parts: Parts) -> bool:
    """Wait and prefill within 10 % of the stored figures, the rest within 10 ms (lab.md 3)."""
    truth_us = parts.to_json()[part]
    return abs(said_us - truth_us) <= (REST_SLACK_US if part == "rest" else PART_SHARE * truth_us)


def within(answer: float, truth: float, slack: float) -> bool:
    return abs(answer - truth) <= slack


def first_token_frame(frames: Sequence[Frame]) -> int | None:
    """The place of the frame that completes the first visible text; None where there is none."""
    for i in range(len(frames)):
        if read_figures(frames[: i + 1], headers_us=None, end="done", end_us=None).ttft_us is not None:
            return i
    return None
