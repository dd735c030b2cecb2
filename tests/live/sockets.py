"""A browser's socket as tests see it: a real connection to a real daphne."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.conf import settings
from django.test import Client
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from tests.live.servers import Daphne

PATIENCE_S = 20.0
Message = dict[str, Any]


class Socket:
    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.seen: list[Message] = []

    def next(self, timeout_s: float = PATIENCE_S) -> Message:
        """The next message that is not a ping."""
        deadline = time.monotonic() + timeout_s
        while True:
            message: Message = json.loads(self.connection.recv(timeout=max(deadline - time.monotonic(), 0)))
            if message["kind"] != "ping":
                self.seen.append(message)
                return message

    def until(self, found: Callable[[Message], bool], timeout_s: float = PATIENCE_S) -> Message:
        deadline = time.monotonic() + timeout_s
        while not found(message := self.next(deadline - time.monotonic())):
            pass
        return message

    def until_id(self, event_id: str, timeout_s: float = PATIENCE_S) -> Message:
        return self.until(lambda message: message.get("id") == event_id, timeout_s)

    def until_kind(self, kind: str, timeout_s: float = PATIENCE_S) -> Message:
        return self.until(lambda message: message["kind"] == kind, timeout_s)

    def close_code(self, timeout_s: float = PATIENCE_S) -> int:
        """Reads to the end."""
        deadline = time.monotonic() + timeout_s
        try:
            while True:
                self.connection.recv(timeout=max(deadline - time.monotonic(), 0))
        except ConnectionClosed as closed:
            assert closed.rcvd is not None
            return closed.rcvd.code

    @property
    def event_ids(self) -> list[str]:
        return [m["id"] for m in self.seen if m["kind"] not in {"state", "finished", "reset"}]

    def __enter__(self) -> Socket:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()


def cookie_of(client: Client | None) -> dict[str, str]:
    name = settings.SESSION_COOKIE_NAME
    return {"Cookie": f"{name}={client.cookies[name].value}"} if client else {}


class Site:
    def __init__(self, daphne: Daphne) -> None:
        self.daphne = daphne

    def open(self, client: Client | None, attempt_id: UUID, after: str = "", **options: Any) -> Socket:
        """Raises websockets.InvalidStatus when the handshake is refused."""
        return self.at(client, f"/ws/attempts/{attempt_id}/?after={after}", **options)

    def at(self, client: Client | None, path: str, **options: Any) -> Socket:
        options.setdefault("origin", Origin(self.daphne.origin))
        url = f"ws://127.0.0.1:{self.daphne.port}{path}"
        headers = {**cookie_of(client), **options.pop("headers", {})}
        return Socket(connect(url, additional_headers=headers, compression=None, **options))
