"""The network layer under httpx: stamps every read, ends reads at the owner's deadline, can be cut.

A `Wire` belongs to one request on one fresh connection. Only the thread that reads may close the socket;
any other thread calls `cut()`, which shuts it down. (Measured: a close from another thread while one blocks
in `recv` reaches nobody, neither the reader nor the server.)
"""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import httpcore

from labs.llama.address import resolve

# A deadline that is already over still gets one short look at the socket: a slow consumer must not lose
# what had arrived in time.
_LAST_LOOK_S = 0.001
CONNECT_TIMEOUT_S = 3.0


class Wire:
    """Times (perf_counter_ns) and the socket of one request. `deadline_ns` is asked before each operation
    and says until when it may block; None is no limit."""

    def __init__(self, deadline_ns: Callable[[], int | None]) -> None:
        self.connected_ns: int | None = None
        self.sent_ns: int | None = None
        self.read_ns: int | None = None
        self.read_bytes = 0
        self.at_eof = False
        self.cut_ns: int | None = None
        self.expired = False
        self._deadline_ns = deadline_ns
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def attach(self, sock: socket.socket) -> None:
        """Makes the connected socket reachable for `cut`; one that was cut meanwhile is shut at once."""
        with self._lock:
            self._socket = sock
            if self.cut_ns is not None:
                _shut(sock)

    def detach(self) -> None:
        """To be called before the socket is closed: its number may be somebody else's right after."""
        with self._lock:
            self._socket = None

    def cut(self) -> None:
        """Shuts the connection down both ways, from any thread. The first call counts."""
        with self._lock:
            if self.cut_ns is not None:
                return
            self.cut_ns = time.perf_counter_ns()
            if self._socket is not None:
                _shut(self._socket)

    def expire(self) -> None:
        """The same at the owner's deadline: `expired` tells it from a cut by somebody."""
        self.expired = self.cut_ns is None
        self.cut()

    def timeout_s(self) -> float | None:
        """How long the next operation may block."""
        deadline_ns = self._deadline_ns()
        if deadline_ns is None:
            return None
        return max((deadline_ns - time.perf_counter_ns()) / 1e9, _LAST_LOOK_S)

    def connect_timeout_s(self) -> float:
        """The same for a connection that does not stand yet and so cannot be cut."""
        timeout_s = self.timeout_s()
        return CONNECT_TIMEOUT_S if timeout_s is None else min(timeout_s, CONNECT_TIMEOUT_S)


def _shut(sock: socket.socket) -> None:
    # Not sock.shutdown: on TLS that drops the session object under the reading thread.
    with contextlib.suppress(OSError):  # the peer may have been faster
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


class StampedStream(httpcore.NetworkStream):
    """httpcore's own stream, with stamps; the timeouts that httpcore passes are replaced by the wire's."""

    def __init__(self, inner: httpcore.NetworkStream, wire: Wire) -> None:
        self._inner = inner
        self._wire = wire
        self._unsent = bytearray()
        wire.attach(inner.get_extra_info("socket"))

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            if self._unsent:
                self._inner.write(bytes(self._unsent), self._wire.timeout_s())
                self._wire.sent_ns = time.perf_counter_ns()
                self._unsent.clear()
            data = self._inner.read(max_bytes, self._wire.timeout_s())
            self._wire.read_ns = time.perf_counter_ns()
        except (httpcore.ReadTimeout, httpcore.WriteTimeout):
            self._wire.expire()
            raise
        self._wire.read_bytes += len(data)
        self._wire.at_eof = not data
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Head and body leave together, right before the answer is awaited: one stamp for the last byte."""
        self._unsent += buffer

    def close(self) -> None:
        self._wire.detach()
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        self._wire.detach()  # wrapping moves the descriptor into a new socket object
        inner = self._inner.start_tls(ssl_context, server_hostname, self._wire.connect_timeout_s())
        self._wire.connected_ns = time.perf_counter_ns()
        return StampedStream(inner, self._wire)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class StampedBackend(httpcore.NetworkBackend):
    """Connects to checked numeric addresses only, by httpcore's own blocking backend."""

    def __init__(self, wire: Wire, allow_local: bool) -> None:
        self._wire = wire
        self._allow_local = allow_local
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        failure: Exception = httpcore.ConnectError("no address")
        for address in resolve(host, port, self._allow_local):
            if self._wire.cut_ns is not None:
                break
            limit_s = self._wire.connect_timeout_s()
            try:
                inner = self._inner.connect_tcp(address, port, limit_s, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as exc:
                failure = exc
                continue
            self._wire.connected_ns = time.perf_counter_ns()
            return StampedStream(inner, self._wire)
        raise failure
