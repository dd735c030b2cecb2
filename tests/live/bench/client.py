"""The browsers' side, as light as it gets: one epoll loop stamps what arrives and looks at it when all is over."""

from __future__ import annotations

import itertools
import json
import select
import socket
import statistics
import sys
import time
from typing import Any

STRAGGLERS_S = 3.0


class Browser:
    def __init__(self, job: dict[str, Any], attempt: str) -> None:
        host = f"127.0.0.1:{job['port']}"
        self.socket = socket.create_connection(("127.0.0.1", job["port"]))
        self.reads: list[tuple[int, bytes]] = []
        self.socket.sendall(
            f"GET /ws/attempts/{attempt}/?after={job['run'] - 1}.999999 HTTP/1.1\r\nHost: {host}\r\n"
            f"Origin: http://{host}\r\nCookie: {job['cookie']}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        while b'"kind":"state"' not in b"".join(data for _, data in self.reads):
            self.reads.append((time.monotonic_ns(), self.socket.recv(65536)))

    def messages(self) -> list[tuple[int, dict[str, Any]]]:
        """(stamp, message): the stamp of the read that completed it."""
        buffer, found = b"", []
        for at_ns, data in self.reads:
            buffer += data
            if buffer.startswith(b"HTTP/1.1"):
                _head, end, buffer = buffer.partition(b"\r\n\r\n")
                assert end
            while len(buffer) >= 4:
                size, start = buffer[1], 2
                if size == 126:
                    size, start = int.from_bytes(buffer[2:4], "big"), 4
                if len(buffer) < start + size:
                    break
                if buffer[0] == 0x81:
                    found.append((at_ns, json.loads(buffer[start : start + size])))
                buffer = buffer[start + size :]
        return found


def main() -> None:
    job = json.loads(sys.argv[1])
    attempts = job["attempts"]
    browsers = [Browser(job, attempts[number % len(attempts)]) for number in range(job["sockets"])]
    epoll, by_fd = select.epoll(), {}
    for browser in browsers:
        epoll.register(browser.socket.fileno(), select.EPOLLIN)
        by_fd[browser.socket.fileno()] = (browser.socket.recv, browser.reads)
    epoll.register(sys.stdin.fileno(), select.EPOLLIN)
    time.sleep(1.0)  # by then the hub's reader waits on all streams
    print("ready", flush=True)
    until_s = float("inf")
    while (left_s := until_s - time.monotonic()) > 0:
        for fd, _ in epoll.poll(min(left_s, 60)):
            if fd == sys.stdin.fileno():  # closed: all is published
                epoll.unregister(fd)
                until_s = time.monotonic() + STRAGGLERS_S
                continue
            recv, reads = by_fd[fd]
            data = recv(65536)
            reads.append((time.monotonic_ns(), data))
    print(json.dumps(figures(browsers, job["events"])))


def figures(browsers: list[Browser], events: int) -> dict[str, Any]:
    delays_ms: list[float] = []
    lost = disorder = 0
    for browser in browsers:
        tokens = [(at_ns, message) for at_ns, message in browser.messages() if message["kind"] == "tokens"]
        ids = [int(message["id"].partition(".")[2]) for _, message in tokens]
        lost += events - len(set(ids))
        disorder += sum(later <= earlier for earlier, later in itertools.pairwise(ids))
        delays_ms += [(at_ns - message["at_ns"]) / 1e6 for at_ns, message in tokens]
    cuts = statistics.quantiles(delays_ms, n=100)
    return {
        "p50_ms": cuts[49],
        "p99_ms": cuts[98],
        "max_ms": max(delays_ms),
        "expected": events * len(browsers),
        "lost": lost,
        "disorder": disorder,
    }


main()
