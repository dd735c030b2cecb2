"""How a control thread reaches into a running plan: it cuts every open stream at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, Protocol

StopKind = Literal["cancelled", "lost"]


class Cuttable(Protocol):
    def cut(self) -> None: ...


class Stopped(Exception):
    """Raised in the driver's own threads once the run was cancelled or its lease lost."""

    def __init__(self, kind: StopKind) -> None:
        super().__init__(kind)
        self.kind = kind


class Control:
    """One per run. `cancel` and `lose` may be called from any thread, more than once; the first one counts.

    `still_mine` answers by the worker's own clock whether the lease can still be ours; it is asked before
    each ask and must not block.
    """

    def __init__(self, still_mine: Callable[[], bool] = lambda: True) -> None:
        self._still_mine = still_mine
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._streams: set[Cuttable] = set()
        self.stopped: StopKind | None = None

    def cancel(self) -> None:
        """The student pressed Stop."""
        self._stop("cancelled")

    def lose(self) -> None:
        """The lease is somebody else's now."""
        self._stop("lost")

    def check(self) -> None:
        """Raises Stopped when the run must not send anything more."""
        if self.stopped is None and not self._still_mine():
            self.lose()
        if self.stopped is not None:
            raise Stopped(self.stopped)

    def wait(self, seconds: float) -> bool:
        """Sleeps, but not past a stop. True when stopped."""
        return self._changed.wait(max(seconds, 0.0))

    @contextmanager
    def open(self, stream: Cuttable) -> Iterator[None]:
        """While the block runs, `stream` is cut by a stop. One that comes after the stop is cut at once."""
        with self._lock:
            self._streams.add(stream)
            stopped = self.stopped is not None
        if stopped:
            stream.cut()
        try:
            yield
        finally:
            with self._lock:
                self._streams.discard(stream)

    def _stop(self, kind: StopKind) -> None:
        with self._lock:
            if self.stopped is not None:
                return
            self.stopped = kind
            streams = list(self._streams)
        self._changed.set()
        for stream in streams:
            stream.cut()
