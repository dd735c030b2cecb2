"""The waterfall of one ask: what its time went into, one stretch after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from labs.measure.recording import Recording

Phase = Literal["connect", "wait", "prefill", "first_token", "first_sentence", "rest"]
PHASES: tuple[Phase, ...] = ("connect", "wait", "prefill", "first_token", "first_sentence", "rest")


@dataclass(frozen=True, slots=True)
class Stretch:
    """On the ask's clock, which starts when the request's last byte was handed over: connecting lies before 0."""

    phase: Phase
    start_us: int
    end_us: int

    @property
    def length_us(self) -> int:
        return self.end_us - self.start_us


def waterfall(recording: Recording, first_sentence_us: int | None = None) -> tuple[Stretch, ...]:
    """Contiguous, in order, none of negative length; a phase that did not happen is absent.

    The server sends its headers when the slot begins to work, so until then the ask waits; how long it then computed
    the prompt is the server's own `prompt_ms`, and what remains until the text is here is `first_token`. Where no
    token came, all that follows the headers is `prefill`. Nothing reaches past the end, or past our close.
    """
    return tuple(_stretches(recording, first_sentence_us))


def _stretches(recording: Recording, first_sentence_us: int | None) -> Iterator[Stretch]:
    seen, at_us = recording.figures, 0
    closed_us = recording.closed_us if seen.end in ("cut", "held") else None
    end_us = closed_us if closed_us is not None else seen.end_us
    if seen.connect_us is not None:
        yield Stretch("connect", -seen.connect_us, 0)
    if end_us is None:
        return
    computed_us = None
    if seen.headers_us is not None and seen.first_token_us is not None and seen.prompt_ms is not None:
        computed_us = min(seen.headers_us + round(seen.prompt_ms * 1000), seen.first_token_us)
    elif seen.headers_us is not None and seen.first_token_us is None:
        computed_us = end_us
    wait_us = end_us if seen.headers_us is None else seen.headers_us
    ends: list[tuple[Phase, int | None]] = [
        ("wait", wait_us),
        ("prefill", computed_us),
        ("first_token", seen.first_token_us),
        ("first_sentence", first_sentence_us),
        ("rest", end_us if seen.first_token_us is not None else None),
    ]
    for phase, until_us in ends:
        if until_us is not None:
            begun_us, at_us = at_us, max(at_us, min(until_us, end_us))
            yield Stretch(phase, begun_us, at_us)
