"""What a reader of a stream must find in it, piece by piece: for holding somebody else's reading against it.

The same decoder as the figures'; this keeps the chat events without text too, and knows the frame that completed
each, so that a wrong reading can be told where it went wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from labs.llama.errors import BadFrame
from labs.llama.wire import Chunk
from labs.measure.events import EventReader
from labs.measure.recording import Frame


@dataclass(frozen=True, slots=True)
class ChatEvent:
    """`text` is its visible text; `frame` counts from 0."""

    at_us: int
    text: str
    frame: int
    has_role: bool = False


@dataclass(slots=True)
class Reading:
    """`pieces` have visible text, `silent` have none. The counters are the last `timings`, or None."""

    pieces: list[ChatEvent] = field(default_factory=list)
    silent: list[ChatEvent] = field(default_factory=list)
    done: bool = False
    error: str | None = None
    prompt_n: int | None = None
    prompt_ms: float | None = None
    predicted_n: int | None = None
    timings_frame: int | None = None

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @property
    def ttft_us(self) -> int | None:
        return self.pieces[0].at_us if self.pieces else None

    @property
    def us_per_token(self) -> float | None:
        """Over `predicted_n - 1` steps, the first token being free; None for one token or one piece."""
        if self.predicted_n is None or self.predicted_n < 2 or len(self.pieces) < 2:
            return None
        return (self.pieces[-1].at_us - self.pieces[0].at_us) / (self.predicted_n - 1)


def read_stream(frames: Sequence[Frame]) -> Reading:
    """Never raises: what follows broken bytes is not read. Half an event at the end is none."""
    reader, reading = EventReader(), Reading()
    filled = 0  # the blank line that ends an event says nothing itself
    try:
        for number, frame in enumerate(frames):
            filled = number if frame.data.strip() else filled
            for event in reader.feed(frame.data):
                if isinstance(event, Chunk):
                    _take(reading, event, frame.at_us, filled)
                else:
                    reading.done = True
    except BadFrame as exc:
        reading.error = reading.error or str(exc)
    reading.done = reading.done or reader.tail() is not None
    return reading


def lines_of(frames: Sequence[Frame]) -> list[tuple[int, str]]:
    """(at_us, line) as a reader of lines gets them: a line arrives with the frame that brought its end."""
    lines: list[tuple[int, str]] = []
    rest = b""
    for frame in frames:
        *whole, rest = (rest + frame.data).split(b"\n")
        lines += [(frame.at_us, line.removesuffix(b"\r").decode("utf-8", "replace")) for line in whole]
    return lines


def _take(reading: Reading, chunk: Chunk, at_us: int, frame: int) -> None:
    event = ChatEvent(at_us, chunk.content, frame, has_role=chunk.role is not None)
    (reading.pieces if chunk.is_first_visible else reading.silent).append(event)
    if chunk.timings is not None and chunk.progress is None:
        reading.prompt_n = chunk.timings.prompt_n
        reading.prompt_ms = chunk.timings.prompt_ms
        reading.predicted_n = chunk.timings.predicted_n
        reading.timings_frame = frame
    if chunk.error is not None and reading.error is None:
        reading.error = chunk.error.message or chunk.error.kind or "error"
