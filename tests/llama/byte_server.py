"""A server that sends exactly the bytes a test scripts, one thread a connection, and tells what came back.

It keeps no state about HTTP but where the request ends, so that a test can break any rule it wants.
"""

import contextlib
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

LIMIT_S = 10.0
SSE_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    b"Keep-Alive: timeout=5, max=100\r\n\r\n"
)
END = b"0\r\n\r\n"


def chunked(data: bytes) -> bytes:
    """One HTTP chunk, as llama-server frames each write."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def answer(status: str, body: bytes, kind: str = "application/json", *more: str) -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *more]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


class Peer:
    """The server's side of one connection."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.request = b""
        self.closed_ns: int | None = None
        self._started = threading.Event()
        self._closed = threading.Event()

    @property
    def path(self) -> str:
        return self.request.split(b" ", 2)[1].decode()

    def read_request(self) -> None:
        while b"\r\n\r\n" not in self.request:
            self._more()
        head, _, body = self.request.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        while length and len(body) < int(length[1]):
            self._more()
            body = self.request.partition(b"\r\n\r\n")[2]
        self._started.set()

    def _more(self) -> None:
        data = self.sock.recv(65536)
        if not data:
            raise ConnectionError("closed before the request was complete")
        self.request += data

    def send(self, data: bytes) -> None:
        """Its own segment: the client's next recv returns these bytes unless it is late."""
        self.sock.sendall(data)

    def watch_close(self) -> None:
        """Blocks until the client closes, and notes when."""
        with contextlib.suppress(OSError):
            while self.sock.recv(65536):
                pass
        self.closed_ns = time.perf_counter_ns()
        self._closed.set()

    def wait_started(self) -> None:
        """For the test's thread: the whole request is there."""
        assert self._started.wait(LIMIT_S), "no request came"

    def wait_closed(self) -> int:
        """For the test's thread: when the close was seen."""
        assert self._closed.wait(LIMIT_S), "the client did not close"
        assert self.closed_ns is not None
        return self.closed_ns


class ByteServer:
    """`script(peer)` runs once the request is there; afterwards the connection is closed. `peers` are in
    the order of arrival; `live` counts connections whose script has not ended."""

    def __init__(self, script: Callable[[Peer], None], tls: ssl.SSLContext | None = None) -> None:
        self.peers: list[Peer] = []
        self._script = script
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._threads: list[threading.Thread] = []
        self._arrived = threading.Condition()

    @property
    def url(self) -> str:
        scheme = "https" if self._tls else "http"
        return f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def live(self) -> int:
        return sum(thread.is_alive() for thread in self._threads)

    def peer(self, index: int = 0) -> Peer:
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.peers) > index, LIMIT_S), "nobody connected"
            return self.peers[index]

    def __enter__(self) -> Self:
        self._acceptor.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Wakes accept(), which a plain close from here would not.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join(LIMIT_S)  # whoever came in the last moment has a thread that runs
        for peer in self.peers:
            with contextlib.suppress(OSError):
                peer.sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(LIMIT_S)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer = Peer(sock)
            thread = threading.Thread(target=self._serve, args=(peer,), daemon=True)
            self._threads.append(thread)
            with self._arrived:
                self.peers.append(peer)
                self._arrived.notify_all()
            thread.start()

    def _serve(self, peer: Peer) -> None:
        with contextlib.ExitStack() as closing, contextlib.suppress(OSError):
            closing.enter_context(peer.sock)
            if self._tls:
                peer.sock = closing.enter_context(self._tls.wrap_socket(peer.sock, server_side=True))
            peer.read_request()
            self._script(peer)
