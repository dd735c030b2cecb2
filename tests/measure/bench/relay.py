"""An independent witness: raw sockets between the driver and the server, in a process of its own.

`python -m tests.measure.bench.relay PORT UPSTREAM_PORT OUT`: forwards bytes unchanged and writes one JSON line
a chat request. Its TTFT runs from 'last request byte forwarded' to 'first content bytes about to be forwarded',
so what the driver says on top of it is the driver's reading bias plus what the relay itself costs. One thread
and no interpreter lock to wait for, so that its stamps are late by at most the forwarding of another piece.
"""

from __future__ import annotations

import contextlib
import json
import re
import selectors
import socket
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from labs.measure.wakeup import ask_for_short_slice

HOST = "127.0.0.1"
TAG = re.compile(rb"tag-[0-9a-z-]+")
CONTENT = re.compile(rb'"content": ?"[^"]')
PROMPT_MS = re.compile(rb'"prompt_ms": ?([0-9.]+)')
LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)


@dataclass
class Pair:
    """A client's connection and, once its request is whole, ours to the server."""

    client: socket.socket
    upstream: socket.socket | None = None
    request: bytes = b""
    sent_ns: int = 0
    first_ns: int = 0
    tail: bytes = b""
    over: bool = False

    @property
    def whole(self) -> bool:
        head, blank, body = self.request.partition(b"\r\n\r\n")
        found = LENGTH.search(head)
        return bool(blank) and len(body) >= (int(found[1]) if found else 0)

    def line(self) -> dict[str, Any] | None:
        """What is written of a chat request that had content."""
        tag, prompt_ms = TAG.search(self.request), PROMPT_MS.findall(self.tail)
        if not tag or not self.first_ns or not prompt_ms:
            return None
        ttft_us = (self.first_ns - self.sent_ns) / 1000
        return {"tag": tag[0].decode(), "ttft_us": ttft_us, "prompt_ms": float(prompt_ms[-1])}


@dataclass
class Relay:
    upstream_port: int
    out: IO[str]
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def run(self, port: int) -> None:
        with socket.create_server((HOST, port), backlog=64) as listener:
            self.selector.register(listener, selectors.EVENT_READ)
            while True:
                for key, _ in self.selector.select():
                    if key.data is None:
                        self._accept(listener)
                    elif not key.data.over and not self._forward(key.data, key.fileobj):
                        self._close(key.data)

    def _accept(self, listener: socket.socket) -> None:
        client, _ = listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.selector.register(client, selectors.EVENT_READ, Pair(client))

    def _forward(self, pair: Pair, readable: object) -> bool:
        """False when the pair is over."""
        try:
            return self._from_client(pair) if readable is pair.client else self._from_upstream(pair)
        except OSError:
            return False

    def _from_client(self, pair: Pair) -> bool:
        data = pair.client.recv(65536)
        pair.request += data
        if not data or pair.upstream is not None:
            return bool(data)
        if pair.whole:
            pair.upstream = socket.create_connection((HOST, self.upstream_port))
            pair.upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pair.upstream.sendall(pair.request)
            pair.sent_ns = time.perf_counter_ns()
            self.selector.register(pair.upstream, selectors.EVENT_READ, pair)
        return True

    def _from_upstream(self, pair: Pair) -> bool:
        assert pair.upstream is not None
        data = pair.upstream.recv(65536)
        if not data:
            return False
        if not pair.first_ns and CONTENT.search(data):
            pair.first_ns = time.perf_counter_ns()
        pair.client.sendall(data)
        pair.tail = (pair.tail + data)[-4096:]
        return True

    def _close(self, pair: Pair) -> None:
        if pair.over:  # both of its ends may be in one answer of the selector
            return
        pair.over = True
        for sock in filter(None, (pair.client, pair.upstream)):
            with contextlib.suppress(KeyError, ValueError):
                self.selector.unregister(sock)
            sock.close()
        if (line := pair.line()) is not None:
            self.out.write(json.dumps(line) + "\n")
            self.out.flush()


if __name__ == "__main__":
    ask_for_short_slice()
    with Path(sys.argv[3]).open("a") as lines:
        Relay(int(sys.argv[2]), lines).run(int(sys.argv[1]))
