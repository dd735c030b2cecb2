"""What one socket still has to take. The hub writes and never waits; a full outbox says so.

ASGI's `send` neither waits nor tells how much lies unsent: under daphne everything a slow browser does not read
piles up in the process. So the outbox looks at the transport behind it. Written for daphne (autobahn, Twisted);
any other server gets a plain queue.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from autobahn.websocket.protocol import PreparedMessage
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet.tcp import Connection

Send = Callable[[dict[str, Any]], Awaitable[None]]

MESSAGES_WAITING = 256
INCOMING_BYTES = 4096
POLL_S = 0.05


class Message:
    """One text for any number of sockets, framed once."""

    __slots__ = ("frame", "payload")

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        prepared = PreparedMessage(payload, isBinary=False, applyMask=False, doNotCompress=True)
        self.frame: bytes = prepared.payloadHybi


class Outbox(Protocol):
    @property
    def full(self) -> bool:
        """No more, please: what is written now only costs memory."""

    def write(self, message: Message) -> None: ...

    def close(self, code: int) -> None: ...


async def drained(outbox: Outbox, timeout_s: float) -> bool:
    """Waits until there is room again. False: the other end took too long."""
    deadline = asyncio.get_running_loop().time() + timeout_s
    while outbox.full:
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(POLL_S)
    return True


def outbox_for(send: Send) -> Outbox:
    """`send` is what the ASGI server gave, unwrapped."""
    # daphne: functools.partial(Server.handle_reply, protocol)
    for argument in getattr(send, "args", ()):
        if isinstance(argument, WebSocketProtocol) and isinstance(argument.transport, Connection):
            return TransportOutbox(argument)
    return QueueOutbox(send)


class TransportOutbox:
    """Writes frames to the socket, or behind what Twisted still holds for it (64 KiB, then it is full)."""

    def __init__(self, protocol: WebSocketProtocol) -> None:
        self._protocol = protocol
        self._transport: Any = protocol.transport
        # A client of ours says nothing, so it may not say much.
        protocol.maxFramePayloadSize = protocol.maxMessagePayloadSize = INCOMING_BYTES

    @property
    def full(self) -> bool:
        return bool(self._transport.producerPaused)

    def write(self, message: Message) -> None:
        protocol, transport = self._protocol, self._transport
        if protocol.state != protocol.STATE_OPEN:
            return
        frame = message.frame
        if not (transport.dataBuffer or transport._tempDataBuffer or protocol.send_queue):
            # Twisted would ask epoll twice for every message; a hundred sockets feel that.
            sent = transport.writeSomeData(frame)
            if isinstance(sent, int):
                frame = frame[sent:]
        if frame:
            protocol.sendData(frame)

    def close(self, code: int) -> None:
        if self.full:
            # A close frame would wait behind what is not read.
            self._transport.abortConnection()
        else:
            self._protocol.serverClose(code)


class QueueOutbox:
    """A bounded queue and the task that empties it, for servers whose `send` waits for the client."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._waiting: deque[dict[str, Any]] = deque()
        self._task: asyncio.Task[None] | None = None

    @property
    def full(self) -> bool:
        return len(self._waiting) >= MESSAGES_WAITING

    def write(self, message: Message) -> None:
        self._put({"type": "websocket.send", "text": message.payload.decode()})

    def close(self, code: int) -> None:
        self._put({"type": "websocket.close", "code": code})

    def _put(self, message: dict[str, Any]) -> None:
        self._waiting.append(message)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._empty())

    async def _empty(self) -> None:
        while self._waiting:
            await self._send(self._waiting[0])
            self._waiting.popleft()
