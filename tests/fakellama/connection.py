"""The HTTP that llama-server speaks: requests with a length, whole answers kept alive, event streams that close."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

JSON = "application/json; charset=utf-8"
KEPT_ALIVE = 100  # requests on one connection
IDLE_S = 5.0  # between two of them
STREAM_HEAD = (
    "HTTP/1.1 200 OK\r\nServer: llama.cpp\r\nAccess-Control-Allow-Origin: \r\nX-Accel-Buffering: no\r\n"
    "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
)
CLOSE, KEEP = "Connection: close", "Keep-Alive: timeout=5, max=100"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    kind: str = JSON
    headers: tuple[str, ...] = ()


def answer(found: object, status: int = 200) -> Answer:
    return Answer(
        status, json.dumps(found, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    )


def error(status: int, message: str, kind: str) -> Answer:
    return answer({"error": {"code": status, "message": message, "type": kind}}, status)


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def closes(self) -> bool:
        return self.headers.get("connection", "").lower() == "close"

    def json(self) -> Any:
        """Raises ValueError."""
        return json.loads(self.body)


Handler = Callable[[Request, "Connection"], Awaitable[Answer | None]]


class Connection(asyncio.Protocol):
    """`handler` gives an answer, or None where it writes a stream itself and ends it. While a request is at work
    nothing is read, so that `is_closed` can look at the socket as the real server does."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._input = b""
        self._served = 0
        self._busy: asyncio.Task[None] | None = None
        self._request = Request("GET", "/", "")
        self._idle: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport
        self._socket: socket.socket | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._socket = transport.get_extra_info("socket").dup()
        self._socket.setblocking(False)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def data_received(self, data: bytes) -> None:
        self._input += data
        self._next()

    def eof_received(self) -> bool:
        return False

    def is_closed(self) -> bool:
        """An end of file or an error is a closed connection, half a close too; pending bytes are life."""
        if self._socket is None or self._transport.is_closing():
            return True
        if self._input:
            return False
        try:
            return not self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def stream_head(self) -> bytes:
        """It says that it keeps the connection where nobody asked to close it, and closes it all the same."""
        return f"{STREAM_HEAD}{CLOSE if self._request.closes else KEEP}\r\n\r\n".encode()

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        self._transport.close()

    def reset(self) -> None:
        """Ends the connection with a reset, whatever was still to be sent."""
        if self._socket is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()

    def _next(self) -> None:
        found = _parse(self._input) if self._busy is None else None
        if found is None:
            return
        request, self._input = found
        self._request = request
        if self._idle is not None:
            self._idle.cancel()
        self._transport.pause_reading()
        self._served += 1
        self._busy = asyncio.get_running_loop().create_task(self._serve(request))

    async def _serve(self, request: Request) -> None:
        try:
            said = await self._handler(request, self)
        except Exception as exc:  # as the real server: whatever a body makes it stumble over is told
            traceback.print_exc()
            said = error(500, repr(exc), "server_error")
        self._busy = None
        if said is None:
            return
        closes = request.closes or self._served >= KEPT_ALIVE
        self.write(_packed(said, closes))
        if closes:
            self.close()
        elif not self._transport.is_closing():
            self._idle = asyncio.get_running_loop().call_later(IDLE_S, self.close)
            self._transport.resume_reading()
            self._next()


def _parse(data: bytes) -> tuple[Request, bytes] | None:
    """The first request and what follows it; None where it is not complete."""
    head, found, rest = data.partition(b"\r\n\r\n")
    if not found:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    length = int(headers.get("content-length", "0"))
    if len(rest) < length:
        return None
    method, target, _ = [*first.split(" "), "", ""][:3]
    path, _, query = target.partition("?")
    return Request(method, path, query, headers, rest[:length]), rest[length:]


def _packed(said: Answer, closes: bool) -> bytes:
    lines = [f"HTTP/1.1 {said.status} {HTTPStatus(said.status).phrase}", "Server: llama.cpp"]
    lines += ["Access-Control-Allow-Origin: ", *said.headers, f"Content-Type: {said.kind}"]
    lines += [f"Content-Length: {len(said.body)}", CLOSE if closes else KEEP]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + said.body
