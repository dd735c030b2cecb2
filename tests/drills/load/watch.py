"""Memory and processor time of every process of the topology, from /proc.

Shared memory is told apart: a database takes it at its start, in a size that it was given, and the system counts a page
of it only once it has been touched. That it fills says nothing of what grows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Course:
    """Of one process name, over restarts: (seconds, MiB) without shared memory, that in MiB, and processor seconds."""

    memory: list[tuple[float, float]] = field(default_factory=list)
    shared_mib: float = 0.0
    cpu_s: float = 0.0
    pid: int = 0
    pid_cpu_s: float = 0.0


class Watch:
    """`pids()` names the processes that run now. A process' children count with it."""

    def __init__(self, pids: Callable[[], Mapping[str, int]]) -> None:
        self._pids = pids
        self._began_s = time.monotonic()
        self.courses: dict[str, Course] = {}

    def look(self) -> None:
        for name, pid in self._pids().items():
            found = self.courses.setdefault(name, Course())
            try:
                family = [pid, *_children(pid)]
                cpu_s = sum(_cpu_s(one, with_dead=one == pid) for one in family)
                own, shared = (
                    sum(part) for part in zip(*(_own_and_shared_mib(one) for one in family), strict=True)
                )
            except OSError:  # it is ending, or starting
                continue
            if found.pid not in (0, pid):
                found.pid_cpu_s = 0.0
            elif found.pid == 0:
                found.pid_cpu_s = cpu_s
            found.cpu_s += max(cpu_s - found.pid_cpu_s, 0.0)
            found.pid, found.pid_cpu_s = pid, cpu_s
            found.memory.append((time.monotonic() - self._began_s, own))
            found.shared_mib = shared

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began_s


def slope_mib_min(memory: Sequence[tuple[float, float]]) -> float:
    """Least squares."""
    if len(memory) < 3:
        return 0.0
    mean_s = sum(at for at, _ in memory) / len(memory)
    mean_mib = sum(mib for _, mib in memory) / len(memory)
    spread = sum((at - mean_s) ** 2 for at, _ in memory)
    return 60 * sum((at - mean_s) * (mib - mean_mib) for at, mib in memory) / spread if spread else 0.0


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _cpu_s(pid: int, with_dead: bool) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(word) for word in fields[11 : 15 if with_dead else 13]) * TICK_S


def _own_and_shared_mib(pid: int) -> tuple[float, float]:
    """Pages that several processes map count in part."""
    rows = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines())
    kib = {row[0]: int(row[1]) for row in rows if row[0].startswith("Pss")}
    shared = kib.get("Pss_Shmem:", 0)
    return (kib.get("Pss:", 0) - shared) / 1024, shared / 1024
