"""A recorded stream for watching it again: what each frame brought, and the moments worth stopping at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from labs.llama.errors import BadFrame
from labs.llama.wire import Chunk, Done
from labs.measure.answer import first_sentence_us
from labs.measure.events import EventReader
from labs.measure.recording import Frame, Recording

# The most telling of what a frame completed; `filler` completed nothing.
FrameKind = Literal["text", "thinking", "error", "done", "progress", "role", "counters", "filler"]
MarkName = Literal[
    "headers", "role", "progress", "first_token", "first_sentence", "last_token", "cut", "idle", "end"
]


@dataclass(frozen=True, slots=True)
class ReplayFrame:
    """`text` is the visible text that it completed, `raw` all of it as text, odd bytes as escapes."""

    at_us: int
    kind: FrameKind
    text: str
    raw: str


@dataclass(frozen=True, slots=True)
class Mark:
    """`done` and `total` are prompt tokens, for `progress` alone."""

    name: MarkName
    at_us: int
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Replay:
    """`marks` are in the order of time. `end_us` is not before any of them."""

    frames: tuple[ReplayFrame, ...]
    marks: tuple[Mark, ...]
    end_us: int


def replay(recording: Recording) -> Replay:
    """Never raises: what follows broken bytes is shown raw."""
    frames, progress = [], []
    reader: EventReader | None = EventReader()
    for frame in recording.frames:
        events, reader = _events(reader, frame)
        frames.append(ReplayFrame(frame.at_us, _kind(events), _text(events), _raw(frame)))
        progress += [
            Mark("progress", frame.at_us, event.progress.processed, event.progress.total)
            for event in events
            if isinstance(event, Chunk) and event.progress is not None
        ]
    marks = sorted([*_marks(recording), *progress], key=lambda mark: mark.at_us)
    last_us = [mark.at_us for mark in marks] + [frame.at_us for frame in frames]
    return Replay(tuple(frames), tuple(marks), max(last_us, default=0))


def _events(reader: EventReader | None, frame: Frame) -> tuple[list[Chunk | Done], EventReader | None]:
    """The events that the frame completed, and the reader, or None when the bytes stopped making sense."""
    found: list[Chunk | Done] = []
    if reader is None:
        return found, None
    try:
        found.extend(reader.feed(frame.data))
    except BadFrame:
        return found, None
    return found, reader


def _marks(recording: Recording) -> Iterator[Mark]:
    seen = recording.figures
    moments: list[tuple[MarkName, int | None]] = [
        ("headers", seen.headers_us),
        ("role", seen.role_us),
        ("first_token", seen.first_token_us),
        ("first_sentence", first_sentence_us(recording)),
        ("last_token", seen.last_token_us),
        ("cut", recording.closed_us if seen.end in ("cut", "held") else None),
        ("idle", recording.idle_us),
        ("end", seen.end_us),
    ]
    for name, at_us in moments:
        if at_us is not None:
            yield Mark(name, at_us)


def _kind(events: list[Chunk | Done]) -> FrameKind:
    chunks = [event for event in events if isinstance(event, Chunk)]
    kinds: list[tuple[FrameKind, bool]] = [
        ("error", any(chunk.error is not None for chunk in chunks)),
        ("text", any(chunk.is_first_visible for chunk in chunks)),
        ("thinking", any(chunk.is_generated for chunk in chunks)),
        ("done", len(chunks) < len(events)),
        ("progress", any(chunk.progress is not None for chunk in chunks)),
        ("role", any(chunk.role is not None for chunk in chunks)),
        ("counters", bool(chunks)),
    ]
    return next((kind for kind, holds in kinds if holds), "filler")


def _text(events: list[Chunk | Done]) -> str:
    return "".join(event.content for event in events if isinstance(event, Chunk))


def _raw(frame: Frame) -> str:
    return frame.data.decode("utf-8", "backslashreplace")
