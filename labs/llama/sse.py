"""An incremental decoder of the WHATWG event-stream format: bytes in, events out.

https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
The bytes may be cut anywhere. An event is handed out by the feed that brings its blank line, so a time
stamp taken for that feed is the event's.
"""

import re
from dataclasses import dataclass

from labs.llama.errors import BadFrame

MAX_EVENT_BYTES = 4 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One dispatched event; `event` is `message` unless the stream named it."""

    event: str
    data: str


class SseDecoder:
    """Feed it bytes as they come; it keeps what is not complete yet."""

    def __init__(self) -> None:
        self._head: bytes | None = b""  # held back while it may still be a byte-order mark
        self._line = bytearray()
        self._data: list[str] = []
        self._data_bytes = 0
        self._event = ""
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that became complete with this chunk. Raises BadFrame past MAX_EVENT_BYTES."""
        if self._head is not None:
            chunk = self._head + chunk
            if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
                self._head = chunk
                return []
            self._head = None
            chunk = chunk.removeprefix(_BOM)
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if not chunk:
            return []
        # A CR ends its line at once; if an LF follows in the next chunk it belonged to that CR.
        self._after_cr = chunk.endswith(b"\r")
        *ended, rest = _LINE_END.split(chunk)
        events = []
        for part in ended:
            line = bytes(self._line + part) if self._line else part
            self._line.clear()
            event = self._take_line(line)
            if event is not None:
                events.append(event)
        self._line += rest
        if len(self._line) + self._data_bytes > MAX_EVENT_BYTES:
            raise BadFrame(f"an event is longer than {MAX_EVENT_BYTES} bytes")
        return events

    @property
    def pending(self) -> SseEvent | None:
        """What a blank line would dispatch now. By the spec it is discarded at the end of the stream;
        a caller may still accept a final `data: [DONE]` that lost its blank line."""
        data = list(self._data)
        name, value = _field(bytes(self._line))
        if name == "data":
            data.append(value)
        return SseEvent(self._event or "message", "\n".join(data)) if data else None

    def _take_line(self, line: bytes) -> SseEvent | None:
        if not line:
            return self._dispatch()
        name, value = _field(line)
        if name == "data":
            self._data.append(value)
            self._data_bytes += len(line)
        elif name == "event":
            self._event = value
        return None

    def _dispatch(self) -> SseEvent | None:
        data, event = self._data, self._event
        self._data, self._data_bytes, self._event = [], 0, ""
        return SseEvent(event or "message", "\n".join(data)) if data else None


def _field(line: bytes) -> tuple[str, str]:
    """Name and value of a line; a comment has the name "". A cut inside a character cannot reach here:
    lines are joined as bytes, and neither CR nor LF occurs inside a UTF-8 sequence."""
    name, _, value = line.partition(b":")
    return name.decode("utf-8", "replace"), value.removeprefix(b" ").decode("utf-8", "replace")
