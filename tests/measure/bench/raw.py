"""The same request by nothing but a socket: how fast the server is when nobody else measures."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from typing import Any

from tests.measure.bench.relay import CONTENT, HOST, PROMPT_MS


def ask(port: int, body: Mapping[str, Any]) -> tuple[float, float]:
    """(TTFT in us, the server's prompt_ms)."""
    content = json.dumps(body).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {HOST}:{port}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    ).encode()
    first_ns, tail = 0, b""
    with socket.create_connection((HOST, port)) as sock:
        sock.sendall(head + content)
        sent_ns = time.perf_counter_ns()
        while data := sock.recv(65536):
            now_ns = time.perf_counter_ns()
            if not first_ns and CONTENT.search(data):
                first_ns = now_ns
            tail = (tail + data)[-4096:]
    return (first_ns - sent_ns) / 1000, float(PROMPT_MS.findall(tail)[-1])
