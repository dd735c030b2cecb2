"""Follows one ask's task on `/slots`: which one it is, whether it is at work, and when it was gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from labs.llama.facts import Slot
from labs.measure.board import LOOK_EVERY_S
from labs.measure.context import Context
from labs.measure.recording import SlotSample

# The look that finds our task waits for the first token, so that it cannot delay that token's stamp; in a
# long prefill it does not wait longer than this.
FIRST_LOOK_S = 0.1


class Tracker:
    """A watcher of the board, so `saw` comes from whichever thread looks. `us` is the ask's clock.

    The reading thread says how far the ask is: `opened` (the headers are there), `wrote` (the first token),
    `ended`. `busy` is set once our task is known and it wrote, by its pieces or by what `/slots` says; with
    `until_busy` the side thread looks until then, otherwise until our task is known.
    """

    def __init__(self, run: Context, key: str, slot: int, us: Callable[[int], int]) -> None:
        self.slot = slot
        self.id_task: int | None = None
        self.samples: list[SlotSample] = []
        self.idle_us: int | None = None
        self.prompt_tokens_after: int | None = None
        self.opened = threading.Event()
        self.wrote = threading.Event()
        self.ended = threading.Event()
        self.busy = threading.Event()
        self.until_busy = False
        self._run = run
        self._key = key
        self._us = us
        self._finder = threading.Thread(target=self._find, name=f"look-{key}", daemon=True)

    def start(self) -> None:
        """Before the clock: a side thread will read our task's id off the reading thread's path."""
        self._run.board.watch(self)
        self._finder.start()

    def end(self) -> None:
        """The reading is over, however it went."""
        for event in (self.opened, self.wrote, self.ended):
            event.set()
        self._finder.join()
        self.busy.set()

    def stop(self) -> None:
        self._run.board.unwatch(self)

    def saw(self, row: Slot, at_ns: int) -> None:
        if not self.opened.is_set():
            return  # still queued: the slot is somebody else's
        may_be_ours = self.id_task is None and (row.is_processing or self.ended.is_set())
        if may_be_ours and self._run.board.claim(row.id_task):
            self.id_task = row.id_task
        ours = self.id_task is not None and row.id_task == self.id_task
        if ours and (self.wrote.is_set() or row.n_decoded):
            self.busy.set()
        sample = SlotSample(
            self._us(at_ns), row.is_processing, row.id_task, row.n_prompt_tokens, row.n_decoded
        )
        self.samples.append(sample)
        self._run.emit(
            "slot",
            {
                "key": self._key,
                "at_us": sample.at_us,
                "busy": sample.busy,
                "n_prompt_tokens": sample.n_prompt_tokens,
            },
        )

    def watch_release(self, until_us: int, every_s: float = LOOK_EVERY_S) -> None:
        """Looks until our task is gone from the slot, `until_us` is over, or the run is stopped."""
        while True:
            look = self._run.board.look()
            row = look.slot(self.slot) if look is not None else None
            if look is not None and row is not None:
                known = self.id_task is not None
                ours = not known or row.id_task == self.id_task
                if not ours or not row.is_processing:
                    self.idle_us = self._us(look.at_ns)
                    self.prompt_tokens_after = row.n_prompt_tokens if ours and known else None
                    return
            if self._run.board.off or self._us(time.perf_counter_ns()) >= until_us:
                return
            if self._run.control.wait(every_s):
                return

    def _find(self) -> None:
        self.opened.wait()
        self.wrote.wait(FIRST_LOOK_S)
        while not self.ended.is_set() and not self._run.board.off:
            self._run.board.look()
            if self.busy.is_set() or (self.id_task is not None and not self.until_busy):
                return
            # The first token is worth a look of its own: with it a held ask is known to be busy.
            (self.ended if self.wrote.is_set() else self.wrote).wait(LOOK_EVERY_S)
        if self._run.board.off:
            self.wrote.wait()
            self.busy.set()
