"""From frames to the stream's events. One decoder for the live view and for the figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from labs.llama.sse import SseDecoder
from labs.llama.wire import Chunk, Done, parse_chunk
from labs.measure.recording import Frame


class EventReader:
    """Feed it the body's bytes as they come; filler (comments, pings, empty data) yields nothing."""

    def __init__(self) -> None:
        self._decoder = SseDecoder()

    def feed(self, data: bytes) -> Iterator[Chunk | Done]:
        """The events that became whole with `data`. Raises `labs.llama.errors.BadFrame`."""
        for event in self._decoder.feed(data):
            chunk = parse_chunk(event.data, event.event)
            if chunk is not None:
                yield chunk

    def tail(self) -> Done | None:
        """A closing `[DONE]` that lost its blank line. Any other unfinished event is not one."""
        pending = self._decoder.pending
        if pending is None or pending.data.strip() != Done.DONE.value:
            return None
        return Done.DONE


def read_events(frames: Iterable[Frame]) -> Iterator[tuple[int, Chunk | Done]]:
    """(at_us, event) for every event in the frames; an event has the time of the read that completed it."""
    reader, at_us = EventReader(), 0
    for frame in frames:
        at_us = frame.at_us
        for event in reader.feed(frame.data):
            yield at_us, event
    if (end := reader.tail()) is not None:
        yield at_us, end
