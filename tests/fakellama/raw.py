"""What a server sends, byte by byte, and the shape of it."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Raw:
    """`headers` are names in their order; `chunks` are the HTTP chunks of a stream, without their framing."""

    status: int
    headers: tuple[str, ...]
    body: bytes
    chunks: tuple[bytes, ...] = ()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def send(url: str, method: str, path: str, body: object = None, *headers: str) -> socket.socket:
    """A connection with the request on its way."""
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: x",
        "Connection: close",
        f"Content-Length: {len(data)}",
        *headers,
    ]
    place = urlsplit(url)
    sock = socket.create_connection((place.hostname, place.port), LIMIT_S)
    sock.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
    return sock


def call(url: str, method: str, path: str, body: object = None, *headers: str) -> Raw:
    with send(url, method, path, body, *headers) as sock:
        data = b"".join(iter(lambda: sock.recv(65536), b""))
    head, _, rest = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    names = tuple(line.partition(":")[0] for line in lines)
    chunks = tuple(_chunks(rest)) if "Transfer-Encoding" in names else ()
    return Raw(int(first.split()[1]), names, b"".join(chunks) or rest, chunks)


def _chunks(data: bytes) -> Iterator[bytes]:
    """Raises AssertionError where the framing is broken or its end is missing."""
    while True:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        assert data[length : length + 2] == b"\r\n", data[:80]
        if not length:
            assert data == b"\r\n"
            return
        yield data[:length]
        data = data[length + 2 :]


def events(chunk: bytes) -> list[Any]:
    """The events in one chunk: objects, `[DONE]`, and comments as they are."""
    found: list[Any] = []
    for text in chunk.decode().split("\n\n"):
        said = text.removeprefix("data: ")
        if text:
            found.append(json.loads(said) if said.startswith("{") else said)
    return found


def shape(found: Any) -> Any:
    """Keys and kinds, without the values that may differ."""
    match found:
        case dict():
            return {key: shape(value) for key, value in found.items()}
        case list():
            return [shape(value) for value in found]
        case bool() | None:
            return found
        case int() | float():
            return "number"
        case _:
            return "text"


def metric_names(text: str) -> list[str]:
    return re.findall(r"^# TYPE (\S+ \S+)$", text, re.MULTILINE)
