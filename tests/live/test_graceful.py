"""A web process that is told to end: what it has begun is finished, and its sockets are sent elsewhere."""

from __future__ import annotations

import contextlib
import signal
import socket
import time
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from labs.models import Attempt
from tests.live.sockets import Site

LogIn = Callable[[User], Client]
END_S = 5.0
WAITING = 45


def test_the_begun_request_is_answered_the_socket_told_to_come_back_and_nothing_new_taken(
    own_site: Site, attempt: Attempt, owner: User, log_in: LogIn
) -> None:
    daphne = own_site.daphne
    assert daphne.process is not None
    with (
        own_site.open(log_in(owner), attempt.pk) as page,
        contextlib.closing(socket.create_connection(("127.0.0.1", daphne.port))) as begun,
    ):
        page.until_kind("state")
        # Its headers are still on the way when the process is told to end.
        begun.sendall(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{daphne.port}\r\n".encode())
        time.sleep(0.1)  # nothing outside tells that the process has read this
        daphne.process.send_signal(signal.SIGTERM)
        assert page.close_code() == 4013
        with pytest.raises(OSError):  # refused, or reset
            socket.create_connection(("127.0.0.1", daphne.port)).recv(1) or _closed()
        begun.sendall(b"Connection: close\r\n\r\n")
        assert begun.recv(65536).startswith(b"HTTP/1.1 200")
        assert daphne.process.wait(END_S) == 0


def test_whoever_waits_in_the_systems_queue_is_answered(own_site: Site) -> None:
    """To a proxy they are connected: a form that it has sent to one of them would be lost."""
    daphne = own_site.daphne
    assert daphne.process is not None
    ask = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{daphne.port}\r\nConnection: close\r\n\r\n".encode()
    with contextlib.ExitStack() as stack:
        daphne.process.send_signal(signal.SIGSTOP)
        try:
            waiting = [
                stack.enter_context(socket.create_connection(("127.0.0.1", daphne.port)))
                for _ in range(WAITING)
            ]
            for one in waiting:
                one.sendall(ask)
            daphne.process.send_signal(signal.SIGTERM)
        finally:
            daphne.process.send_signal(signal.SIGCONT)
        assert [one.recv(12) for one in waiting] == [b"HTTP/1.1 200"] * WAITING
    assert daphne.process.wait(END_S) == 0


def _closed() -> None:
    raise ConnectionResetError
