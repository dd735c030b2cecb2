"""A TCP relay between the browser and the site, to cut what goes through it as a bad network does."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self


class WireCutter:
    """Listens on a free loopback port and relays to `target`. `cut_sockets()` resets every upgraded connection; with
    `is_down` set by `lose()` nothing at all goes through until `mend()`."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target
        self.cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._upgraded: set[socket.socket] = set()
        self._open: set[socket.socket] = set()
        self.is_down = False
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        host, port = self._listener.getsockname()
        return f"http://{host}:{port}"

    def cut_sockets(self) -> int:
        """How many websockets were cut."""
        with self._lock:
            cut, self._upgraded = self._upgraded, set()
        for end in cut:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self.cuts += len(cut) // 2  # two ends each
        return len(cut) // 2

    def lose(self) -> None:
        """Every connection ends, and each new one at once."""
        self.is_down = True
        with self._lock:
            gone = set(self._open)
        for end in gone:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self.is_down = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self.lose()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self.is_down:
                near.close()
                continue
            threading.Thread(target=self._relay, args=(near,), daemon=True).start()

    def _relay(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(self.target, timeout=10)
        except OSError:
            near.close()
            return
        far.settimeout(None)
        with self._lock:
            self._open |= {near, far}
        back = threading.Thread(target=self._copy, args=(far, near), daemon=True)
        back.start()
        self._copy(near, far, watch=True)
        back.join()
        for end in (near, far):
            with self._lock:
                self._upgraded.discard(end)
                self._open.discard(end)
            end.close()

    def _copy(self, source: socket.socket, sink: socket.socket, *, watch: bool = False) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if watch and b"upgrade: websocket" in data.lower():
                    with self._lock:
                        self._upgraded |= {source, sink}
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
