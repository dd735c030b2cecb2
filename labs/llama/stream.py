"""One streamed chat: times first, meaning second. See measuring.md 2.1 and 2.4 for what the server does."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

import httpx

from labs.llama.answers import error_of, read_body
from labs.llama.backend import Wire
from labs.llama.errors import BadFrame, LlamaError, Unreachable
from labs.llama.sse import SseDecoder
from labs.llama.wire import DONE, Chunk, ServerError, parse_chunk

StreamEnd = Literal[
    "done",  # [DONE] was seen
    "cut",  # we closed it: cut(), close_at() or close()
    "first_token_timeout",
    "idle_timeout",
    "time_limit",
    "truncated",  # the connection ended without [DONE]
    "error",  # an error object inside the stream
    "bad_frame",  # not an event stream any more: broken JSON
]


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds. `first_token_s` runs from the last request byte until the model wrote anything, whatever
    pings and progress arrive; `idle_s` from one written piece to the next; `total_s` from the start."""

    first_token_s: float
    idle_s: float
    total_s: float


@dataclass(frozen=True, slots=True)
class Read:
    """One piece of the body as it came off the wire (chunked framing removed). `at_ns` is the stamp of the
    recv that completed it; pieces of one recv share it. `chunks` are the events that ended in this piece."""

    at_ns: int
    data: bytes
    chunks: tuple[Chunk, ...]


class ChatStream:
    """A context manager on a fresh connection; iterate it for `Read`s, then look at `end`.

    Times are perf_counter_ns and filled as they happen. Entering raises Unreachable, Rejected (Loading,
    Unauthorised, NotSupported), BadAddress or BadFrame; being cut, an own deadline and a lost connection
    are not exceptions but an `end`, before the headers too. To hold the connection stop iterating and keep
    the object. `cut()` may come from any thread; everything else belongs to the reading one.
    """

    def __init__(self, client: httpx.Client, request: httpx.Request, limits: Limits) -> None:
        self.started_ns: int | None = None
        self.headers_ns: int | None = None
        self.status: int | None = None
        self.end: StreamEnd | None = None
        self.error: ServerError | None = None
        self._client = client
        self._request = request
        self._limits = limits
        self._wire = Wire(self._next_deadline_ns)
        request.extensions = {**request.extensions, "wire": self._wire}
        self._response: httpx.Response | None = None
        self._pieces: Iterator[bytes] = iter(())
        self._sse = SseDecoder()
        self._generated_ns: int | None = None
        self._close_at_ns: int | None = None
        self._close_after_sent_ns: int | None = None

    @property
    def connected_ns(self) -> int | None:
        return self._wire.connected_ns

    @property
    def sent_ns(self) -> int | None:
        """The end of the write that handed the request's last byte to the socket."""
        return self._wire.sent_ns

    @property
    def cut_ns(self) -> int | None:
        """When we shut the connection, if we did."""
        return self._wire.cut_ns

    def cut(self) -> None:
        """Shuts the connection now, from any thread; a blocked reader ends at once. Idempotent."""
        self._wire.cut()

    def close_at(self, at_ns: int) -> None:
        """Ends the stream at this time by the reading thread's own deadline, even if nothing arrived."""
        self._close_at_ns = at_ns

    def close_after_sent(self, delay_s: float) -> None:
        """The same, counted from `sent_ns`; to be called before entering."""
        self._close_after_sent_ns = round(delay_s * 1e9)

    def close(self) -> None:
        """Closes the socket. A stream that had not ended becomes `cut`."""
        if self.end is None:
            self._finish("cut")
        if self._response is not None:
            self._response.close()

    def __enter__(self) -> Self:
        self.started_ns = time.perf_counter_ns()
        try:
            response = self._client.send(self._request, stream=True)
        except (httpx.TransportError, LlamaError) as exc:
            self._failed_to_open(exc)
            return self
        self.headers_ns = self._wire.read_ns
        self.status = response.status_code
        self._response = response
        self._pieces = response.iter_raw()
        if not _is_event_stream(response):
            self._refuse(response)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Read]:
        while self.end is None:
            try:
                data = next(self._pieces)
            except StopIteration:
                self._finish(self._end_at_eof())
            except httpx.TransportError as exc:
                self._finish(self._end_of(exc))
            else:
                at_ns = self._wire.read_ns or 0
                if late := self._hard_end(at_ns):
                    self._finish(late)
                    return
                # The end is set before the piece is handed on, so a consumer sees both together.
                yield Read(at_ns, data, self._decode(data, at_ns))

    def _decode(self, data: bytes, at_ns: int) -> tuple[Chunk, ...]:
        chunks: list[Chunk] = []
        try:
            for event in self._sse.feed(data):
                item = parse_chunk(event.data, event.event)
                if item is DONE:
                    self._finish("done")
                    return tuple(chunks)
                if not isinstance(item, Chunk):
                    continue
                chunks.append(item)
                if item.error is not None:
                    self.error = item.error
                    self._finish("error")
                    return tuple(chunks)
        except BadFrame as exc:
            self.error = ServerError(None, "bad_frame", str(exc))
            self._finish("bad_frame")
            return tuple(chunks)
        if any(chunk.is_generated for chunk in chunks):
            self._generated_ns = at_ns
        elif at_ns >= (soft := self._soft_deadline())[0]:
            self._finish(soft[1])
        return tuple(chunks)

    def _finish(self, end: StreamEnd) -> None:
        self.end = end
        if end in ("cut", "first_token_timeout", "idle_timeout", "time_limit"):
            self._wire.cut()

    def _end_at_eof(self) -> StreamEnd:
        pending = self._sse.pending
        if pending is not None and pending.data.strip() == DONE.value:
            return "done"
        return "cut" if self._wire.cut_ns is not None else "truncated"

    def _end_of(self, exc: httpx.TransportError) -> StreamEnd:
        wire = self._wire
        if wire.expired:
            return min(self._deadlines())[1]
        if wire.cut_ns is None and isinstance(exc, httpx.RemoteProtocolError) and not wire.at_eof:
            self.error = ServerError(None, "bad_frame", "broken HTTP framing")
            return "bad_frame"
        return self._end_at_eof()

    def _failed_to_open(self, exc: httpx.TransportError | LlamaError) -> None:
        now_ns = time.perf_counter_ns()
        wire = self._wire
        if wire.expired:
            self._finish(min(self._deadlines())[1])
        elif wire.cut_ns is not None:
            self._finish("cut")
        elif isinstance(exc, LlamaError):
            self.end = "truncated"
            raise exc
        elif isinstance(exc, httpx.TimeoutException) and (due := min(self._deadlines()))[0] <= now_ns:
            self._finish(due[1])
        elif wire.connected_ns is None or isinstance(exc, httpx.TimeoutException | httpx.ConnectError):
            self.end = "truncated"
            raise Unreachable(str(exc) or "no connection") from exc
        elif wire.read_bytes and isinstance(exc, httpx.RemoteProtocolError):
            self.end = "bad_frame"
            raise BadFrame("the answer is not HTTP") from exc
        else:
            self._finish("truncated")

    def _refuse(self, response: httpx.Response) -> None:
        """The answer is no event stream: an HTTP error, or a stranger."""
        try:
            error: LlamaError = error_of(response, read_body(response, self._pieces))
        except httpx.TransportError as exc:
            self._finish(self._end_of(exc))
            if self.end != "truncated":
                return
            error = error_of(response, b"")
        finally:
            response.close()
        self.end = self.end or "error"
        raise error

    def _deadlines(self) -> list[tuple[int, StreamEnd]]:
        return [*self._hard_deadlines(), self._soft_deadline()]

    def _hard_deadlines(self) -> list[tuple[int, StreamEnd]]:
        """Those that end the stream whatever has arrived."""
        started_ns = self.started_ns or time.perf_counter_ns()
        found: list[tuple[int, StreamEnd]] = [(started_ns + _ns(self._limits.total_s), "time_limit")]
        if self._close_at_ns is not None:
            found.append((self._close_at_ns, "cut"))
        if self._close_after_sent_ns is not None and self.sent_ns is not None:
            found.append((self.sent_ns + self._close_after_sent_ns, "cut"))
        return found

    def _soft_deadline(self) -> tuple[int, StreamEnd]:
        """The one that the next piece of written text moves on."""
        if self._generated_ns is not None:
            return self._generated_ns + _ns(self._limits.idle_s), "idle_timeout"
        since_ns = self.sent_ns or time.perf_counter_ns()
        return since_ns + _ns(self._limits.first_token_s), "first_token_timeout"

    def _hard_end(self, at_ns: int) -> StreamEnd | None:
        """What ended the stream before a piece of this time, if anything did."""
        if self._wire.cut_ns is not None and at_ns > self._wire.cut_ns:
            return "cut"
        due_ns, end = min(self._hard_deadlines())
        return end if at_ns > due_ns else None

    def _next_deadline_ns(self) -> int:
        return min(self._deadlines())[0]


def _is_event_stream(response: httpx.Response) -> bool:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    return response.status_code == 200 and kind == "text/event-stream" and encoding == "identity"


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
