"""How soon a thread of this process runs once its bytes have come: what a stamp can be late by.

llama-server computes on every core. A reader that wakes has to be let in by the kernel, then by the interpreter;
each has a wish to be told once. `docs/bench-measure.md` says what each of the three gave.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import platform
import struct
import sys
import threading
from collections.abc import Iterator

SWITCH_S = 0.0005  # a thread that holds the interpreter lock gives way after this instead of 5 ms
MANY_NEW = 50_000  # objects, some 10 MB
SLICE_NS = 100_000  # the least that Linux takes; a short slice wakes before a long one

_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
_SCHED_OTHER = 0


def wake_early() -> None:
    """For the calling thread and all threads it starts from now on. Needs no rights; a wish, never an error."""
    sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_S))
    ask_for_short_slice()


def ask_for_short_slice() -> bool:
    """Linux 6.12 and newer order waking threads by the slice they ask for (sched_setattr(2), `sched_runtime`).

    False where the kernel takes no such wish. The thread's niceness stays.
    """
    number = _SCHED_SETATTR.get(platform.machine())
    if sys.platform != "linux" or number is None:
        return False
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    # struct sched_attr, first version: size, policy, flags, nice, priority, runtime, deadline, period
    wish = struct.pack("=IIQiIQQQ", 48, _SCHED_OTHER, 0, niceness, 0, SLICE_NS, 0, 0)
    return bool(ctypes.CDLL(None).syscall(number, 0, wish, 0) == 0)


@contextlib.contextmanager
def no_collections() -> Iterator[None]:
    """Without the cycle collector: its full round holds the interpreter for tens of ms in a process with Django.

    The runs of a process share it: it is off while one of them goes on. Where one always does, the end of a run looks
    through all that came since the start once that is much, in a few ms (the rest is frozen, labs.start). A young
    round would not do: what another run holds just then would be passed on to where no round looks any more.
    """
    _runs.begin()
    try:
        yield
    finally:
        _runs.end()


class _Runs:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0
        self._was_on = False

    def begin(self) -> None:
        with self._lock:
            if not self._number:
                self._was_on = gc.isenabled()
                gc.disable()
            self._number += 1

    def end(self) -> None:
        with self._lock:
            self._number -= 1
            if self._number:
                if gc.get_count()[0] > MANY_NEW:
                    gc.collect()
            elif self._was_on:
                gc.enable()


_runs = _Runs()
