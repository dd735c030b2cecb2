"""Looks at `/slots`: who is on which slot, which tasks are ours, and whether a stranger was there."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from labs.llama.client import LlamaClient
from labs.llama.errors import LlamaError, NotSupported
from labs.llama.facts import Slot, parse_slot
from labs.measure.control import Control

LOOK_EVERY_S = 0.1  # 10 Hz: with `return_progress` the server still notices a closed connection (DESIGN 6.6)


class Watcher(Protocol):
    """Somebody who wants to know what `/slots` says of one slot."""

    @property
    def slot(self) -> int: ...
    def saw(self, row: Slot, at_ns: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Look:
    """One answer of `/slots`; `at_ns` is when it came."""

    at_ns: int
    slots: tuple[Slot, ...]
    body: str = ""

    def slot(self, slot_id: int) -> Slot | None:
        return next((slot for slot in self.slots if slot.id == slot_id), None)

    @property
    def all_idle(self) -> bool:
        return not any(slot.is_processing for slot in self.slots)


@dataclass
class Board:
    """Every look of a run goes through here, from whichever thread. `before` holds the task ids that stood
    in the slots when the run began; any other id that is not one of ours is a stranger's."""

    client: LlamaClient
    off: bool = False  # the server has no `/slots`: nobody need wait for a look
    before: frozenset[int] = frozenset()
    ours: set[int] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    strangers: set[int] = field(default_factory=set)
    _watchers: list[Watcher] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> None:
        """The look before the first ask."""
        if (look := self.look()) is not None:
            self.before = frozenset(_ids(look.slots))

    def watch(self, watcher: Watcher) -> None:
        with self._lock:
            self._watchers.append(watcher)

    def unwatch(self, watcher: Watcher) -> None:
        with self._lock:
            self._watchers = [w for w in self._watchers if w is not watcher]

    def look(self) -> Look | None:
        """None where `/slots` is off or did not answer; the caller looks again or goes without."""
        try:
            body = self.client.get("/slots")
        except NotSupported:
            self.off = True
            return None
        except LlamaError:
            return None
        at_ns = time.perf_counter_ns()
        return self.took(body, at_ns)

    def took(self, body: bytes, at_ns: int) -> Look | None:
        """Notes an answer of `/slots` that somebody fetched."""
        try:
            slots = tuple(parse_slot(row) for row in json.loads(body))
        except (LlamaError, ValueError, TypeError):
            return None
        with self._lock:
            self.seen.update(_ids(slots))
            watchers = list(self._watchers)
        for watcher in watchers:
            for slot in slots:
                if slot.id == watcher.slot:
                    watcher.saw(slot, at_ns)
        return Look(at_ns, slots, body.decode("utf-8", "replace"))

    def claim(self, id_task: int | None) -> bool:
        """Takes a task id seen on an ask's slot as that ask's, unless it is known to be another's."""
        with self._lock:
            if id_task is None or id_task in self.before or id_task in self.ours or id_task in self.strangers:
                return False
            self.ours.add(id_task)
            return True

    def check_quiet(self) -> None:
        """A look at a moment when every task of ours is known: any other id is a stranger's."""
        if (look := self.look()) is not None:
            with self._lock:
                self.strangers |= set(_ids(look.slots)) - self.before - self.ours

    @property
    def foreign_tasks(self) -> int:
        return len(self.strangers | (self.seen - self.before - self.ours))


def wait_idle(client: LlamaClient, limit_s: float = 15.0, control: Control | None = None) -> bool:
    """Waits (10 Hz) until every slot is idle. False when the limit passed, on a stop, or without `/slots`."""
    control = control or Control()
    board, until_s = Board(client), time.monotonic() + limit_s
    while True:
        look = board.look()
        if look is not None and look.all_idle:
            return True
        if board.off or time.monotonic() >= until_s or control.wait(LOOK_EVERY_S):
            return False


def _ids(slots: Iterable[Slot]) -> list[int]:
    return [slot.id_task for slot in slots if slot.id_task is not None]
