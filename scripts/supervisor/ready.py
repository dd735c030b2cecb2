"""Ready means answering: a page, the model loaded, PONG. Nothing is taken from a log or a pause."""

from __future__ import annotations

import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from threading import Event

from scripts.supervisor.topology import HOST, Places

Probe = Callable[[], bool]
_POLL_S = 0.25
_ANSWER_S = 5.0


def probes(places: Places) -> dict[str, Probe]:
    found: dict[str, Probe] = {
        "valkey": lambda: answers_ping(places.valkey_port),
        # The first asks the database, the second is what people see first.
        "web": lambda: answers_ok(places.web_url + "readyz") and answers_ok(places.web_url + "login/"),
    }
    if places.llama_port is not None:
        found["llama"] = lambda: answers_ok(places.llama_url + "/health")
    return found


def wait_until_ready(probes: Mapping[str, Probe], stopping: Event, limit_s: float) -> set[str]:
    """The names that still do not answer when the time is up or a stop is asked for; empty when all do."""
    missing = set(probes)
    deadline = time.monotonic() + limit_s
    while missing and time.monotonic() < deadline and not stopping.wait(_POLL_S):
        missing = {name for name in missing if not probes[name]()}
    return missing


def answers_ok(url: str) -> bool:
    """A 200. llama-server says 503 while it loads its model."""
    try:
        with urllib.request.urlopen(url, timeout=_ANSWER_S) as answer:  # noqa: S310  # our own http address
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def answers_ping(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), timeout=_ANSWER_S) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16) == b"+PONG\r\n"
    except OSError:
        return False
