"""A process is known by its number and its start time together: a number alone is soon someone else's."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Identity:
    """`started` only serves to be compared: boot and clock ticks on Linux, the time of day elsewhere."""

    pid: int
    started: str

    def is_alive(self) -> bool:
        return start_time(self.pid) == self.started


def start_time(pid: int) -> str | None:
    """When this process began, or None where none (or only a zombie) has this number."""
    if Path("/proc/self/stat").exists():
        return _linux_start_time(pid)
    found = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.split(maxsplit=1)
    return found[1].strip() if len(found) == 2 and not found[0].startswith("Z") else None


def _linux_start_time(pid: int) -> str | None:
    try:
        # The name in parentheses may itself hold blanks and parentheses.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    if fields[0] in "ZX":
        return None
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
    return f"{boot}:{fields[19]}"


def identify(pid: int) -> Identity | None:
    started = start_time(pid)
    return Identity(pid, started) if started else None


def end(processes: list[Identity], grace_s: float) -> list[Identity]:
    """Ends those that still are who they were, with their groups. Returns the ones that had to be ended.

    Each recorded process leads its own session, so its group holds nobody else's processes.
    """
    ended = [process for process in processes if process.is_alive()]
    for signum, wait_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, grace_s)):
        for process in ended:
            if process.is_alive():
                signal_group(process.pid, signum)
        deadline = time.monotonic() + wait_s
        while any(process.is_alive() for process in ended) and time.monotonic() < deadline:
            time.sleep(0.05)
    return ended


def signal_group(pid: int, signum: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signum)
