"""An independent witness: raw sockets between the driver and the server, in a process of its own.

`python -m tests.measure.bench.relay PORT UPSTREAM_PORT OUT`: forwards bytes unchanged and writes one JSON line a
chat request. Its TTFT runs from 'last request byte forwarded' to 'first content bytes about to be forwarded', so
what the driver says on top of it is the driver's reading bias plus what the relay itself costs.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
TAG = re.compile(rb"tag-[0-9a-z-]+")
CONTENT = re.compile(rb'"content":"[^"]')
PROMPT_MS = re.compile(rb'"prompt_ms":([0-9.]+)')
LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)


def read_request(sock: socket.socket) -> bytes:
    """Everything up to the end of the body; b"" where the client left first."""
    data = b""
    while True:
        head, blank, body = data.partition(b"\r\n\r\n")
        found = LENGTH.search(head)
        if blank and len(body) >= (int(found[1]) if found else 0):
            return data
        more = sock.recv(65536)
        if not more:
            return b""
        data += more


def forward(client: socket.socket, upstream_port: int) -> dict[str, Any] | None:
    """One connection. The line for a chat request that had content, else None."""
    request = read_request(client)
    if not request:
        return None
    first_ns = 0
    tail = b""
    with socket.create_connection((HOST, upstream_port)) as upstream:
        upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        upstream.sendall(request)
        sent_ns = time.perf_counter_ns()
        while data := upstream.recv(65536):
            if not first_ns and CONTENT.search(data):
                first_ns = time.perf_counter_ns()
            client.sendall(data)
            tail = (tail + data)[-4096:]
    tag, prompt_ms = TAG.search(request), PROMPT_MS.findall(tail)
    if not tag or not first_ns or not prompt_ms:
        return None
    return {"tag": tag[0].decode(), "ttft_us": (first_ns - sent_ns) / 1000, "prompt_ms": float(prompt_ms[-1])}


def serve(port: int, upstream_port: int, out: Path) -> None:
    lock = threading.Lock()

    def one(client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line = forward(client, upstream_port)
            if line is not None:
                with lock, out.open("a") as file:
                    file.write(json.dumps(line) + "\n")

    with socket.create_server((HOST, port), backlog=64) as listener:
        while True:
            client, _ = listener.accept()
            threading.Thread(target=one, args=(client,), daemon=True).start()


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
