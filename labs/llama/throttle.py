"""How often, and for how long, the kernel stopped a group of processes because its CPU quota was used up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from labs.llama import machine


@dataclass(frozen=True, slots=True)
class Stops:
    """Since the group began. `stopped_us` is summed over the cores, as the kernel counts it."""

    periods: int
    stopped_us: int

    def __sub__(self, earlier: Stops) -> Stops:
        return Stops(self.periods - earlier.periods, self.stopped_us - earlier.stopped_us)


def stops(own: Path = machine.OWN_CGROUP, root: Path = machine.CGROUP_ROOT) -> Stops | None:
    """Of the group that `own` (a process's /proc/PID/cgroup) names, and of all above it: a quota anywhere stops it.
    None where the kernel does not say, or where the group lies outside what this process sees."""
    if "/.." in machine.read_text(own):
        return None
    found = [
        one for folder in machine.cgroup_folders(root, own, "cpu") if (one := _stops(folder)) is not None
    ]
    if not found:
        return None
    return Stops(sum(one.periods for one in found), sum(one.stopped_us for one in found))


def _stops(folder: Path) -> Stops | None:
    pairs = (line.split() for line in machine.read_text(folder / "cpu.stat").splitlines())
    counts = {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
    if "nr_throttled" not in counts:
        return None
    # Microseconds in version 2, nanoseconds in version 1.
    stopped_us = counts.get("throttled_usec", counts.get("throttled_time", 0) // 1000)
    return Stops(counts["nr_throttled"], stopped_us)
