"""An ask whose connection stays open while other items of the plan run (plan.Hold)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from labs.measure.asking import Asking
from labs.measure.board import LOOK_EVERY_S
from labs.measure.context import Context
from labs.measure.outcome import reason_of_end
from labs.measure.plan import Ask, Hold
from labs.measure.prepare import Prompt
from labs.measure.recording import StreamEnd

JOIN_SPARE_S = 15.0  # settling after the stream's own limits
SENT_POLL_S = 0.005


class Holding(Asking):
    """Runs in a thread of its own. `start()` returns once the ask is known to be busy; the driver then
    tells when the item `until` begins and ends, and `join()`s."""

    def __init__(self, run: Context, ask: Ask, prompt: Prompt) -> None:
        super().__init__(run, ask, prompt)
        assert isinstance(ask.end, Hold)
        self.hold = ask.end
        self.tracker.until_busy = True
        self._shut = threading.Event()
        self._stalled = False
        self._threads: list[threading.Thread] = []
        self._crash: BaseException | None = None

    def start(self) -> None:
        """Returns when our task is known and wrote its first token, or it ended, or that did not come in
        time."""
        self._spawn(self._live)
        self.tracker.busy.wait(self.run.limits.first_token_s + 1.0)

    @property
    def has_failed(self) -> bool:
        """It ended, and not as an ask should."""
        return self.tracker.ended.is_set() and (self.failure is not None or reason_of_end(self.end) != "")

    def until_began(self, sent_ns: Callable[[], int | None]) -> None:
        """The item `until` is being sent; `sent_ns` tells when its last byte was, None before."""
        if self.hold.shut_after_ms is not None:
            self._spawn(self._shut_later, sent_ns, self.hold.shut_after_ms / 1000)

    def until_ended(self) -> None:
        if not self.hold.read and self.hold.shut_after_ms is None:
            self.shut()

    def shut(self) -> None:
        """Shuts the connection down, from any thread."""
        self.stream.cut()
        self._shut.set()

    def join(self) -> None:
        """Waits for the end. Everything in the threads has a limit, so this has one too."""
        until_s = time.monotonic() + self.run.limits.total_s + JOIN_SPARE_S
        for thread in self._threads:
            thread.join(max(until_s - time.monotonic(), 0.0))
        if self._crash is not None:
            raise self._crash

    def _live(self) -> None:
        try:
            self.read()
            self.settle()
        except BaseException as exc:  # handed to join(): a thread has nobody else to tell
            self._crash = exc
            self.tracker.busy.set()

    def _read_body(self) -> None:
        stop_us = None if self.hold.read else self.hold.stop_after_ms
        stop_us = None if stop_us is None else stop_us * 1000
        for read in self.stream:
            self._take(read)
            if stop_us is not None and self.stream.end is None and self.us(read.at_ns) >= stop_us:
                self._stall()
                break
        self._ended_ns = time.perf_counter_ns()

    def _stall(self) -> None:
        """Keeps the connection and reads nothing more, until shut down."""
        self._stalled = True
        until_s = time.monotonic() + self.run.limits.total_s
        while not self._shut.wait(0.05) and self.run.control.stopped is None and time.monotonic() < until_s:
            pass
        self.shut()

    def _how_it_ended(self) -> StreamEnd:
        return "held" if self._stalled else super()._how_it_ended()

    def _shut_later(self, sent_ns: Callable[[], int | None], delay_s: float) -> None:
        while (at_ns := sent_ns()) is None:
            if self.tracker.ended.wait(SENT_POLL_S):
                return
        due_s = at_ns / 1e9 + delay_s
        # One look shortly before, so that it is on record whether the held task was still at work.
        if self.tracker.ended.wait(max(due_s - LOOK_EVERY_S - time.perf_counter(), 0.0)):
            return
        self.run.board.look()
        if not self.tracker.ended.wait(max(due_s - time.perf_counter(), 0.0)):
            self.shut()

    def _spawn(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, name=f"hold-{self.ask.key}", daemon=True)
        self._threads.append(thread)
        thread.start()
