"""Waiting for a quiet machine: on one where others work too, milliseconds mean little."""

from __future__ import annotations

import time
from pathlib import Path

BUSY_SHARE = 0.3
QUIET_S = 5


def wait_calm(limit_s: float) -> None:
    """Returns when the cores were mostly idle for QUIET_S seconds, or the limit is over; says which."""
    if limit_s <= 0:
        return
    until_s = time.monotonic() + limit_s
    quiet_s = 0
    before = _jiffies()
    while quiet_s < QUIET_S:
        if time.monotonic() >= until_s:
            print("  (the machine did not become quiet)")
            return
        time.sleep(1)
        now = _jiffies()
        busy, total = now[0] - before[0], now[1] - before[1]
        quiet_s = quiet_s + 1 if busy <= BUSY_SHARE * total else 0
        before = now


def _jiffies() -> tuple[int, int]:
    """(busy, all) of all cores since boot."""
    user, nice, system, idle, iowait, *rest = map(
        int, Path("/proc/stat").read_text().split("\n")[0].split()[1:8]
    )
    busy = user + nice + system + sum(rest)
    return busy, busy + idle + iowait
