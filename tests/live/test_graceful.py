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

from labhub_voice.web import GracefulServer
from labs.models import Attempt
from tests.live.sockets import Site

LogIn = Callable[[User], Client]
END_S = 5.0
WAITING = 9


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


class Port:
    """A listening socket as Twisted has it, which takes two of those that wait at a reading."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=WAITING)
        self.socket.setblocking(False)
        self.taken: list[socket.socket] = []
        self.fileno = self.socket.fileno

    def doRead(self) -> None:
        with contextlib.suppress(BlockingIOError):
            for _ in range(2):
                self.taken.append(self.socket.accept()[0])

    def stopListening(self) -> None:
        self.socket.close()


async def test_whoever_waits_in_the_systems_queue_is_taken_before_the_port_is_closed() -> None:
    """To a proxy they are connected: a form that it has sent to one of them would be lost."""
    port = Port()
    server = GracefulServer(None, endpoints=["tcp:0"])
    server._ports, server.connections = [port], {}  # as `run` leaves them
    address = port.socket.getsockname()
    with contextlib.ExitStack() as stack:
        waiting = {
            stack.enter_context(socket.create_connection(address)).getsockname() for _ in range(WAITING)
        }
        await server._finish()
        assert {stack.enter_context(one).getpeername() for one in port.taken} == waiting
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)


def _closed() -> None:
    raise ConnectionResetError
