"""Did a CPU quota stop the worker or the server while it was measured? Then no time in the run means anything."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from labs.llama import machine
from labs.llama.local import listening_pid
from labs.llama.throttle import Stops, stops
from labs.text import Json

# A quota of whole cores that are all busy is overdrawn by a hair in every period. What is stopped for less than a
# twentieth of the run is no more than the noise that the lab bears anyway.
TOLERATED = 0.05


def groups_near(base_url: str) -> dict[str, Path]:
    """The worker's own group, and the server's where it runs on this machine in another one."""
    groups = {"worker": machine.OWN_CGROUP}
    pid = listening_pid(base_url)
    if pid is not None:
        theirs = Path(f"/proc/{pid}/cgroup")
        if machine.read_text(theirs) != machine.read_text(machine.OWN_CGROUP):
            groups["server"] = theirs
    return groups


class Quota:
    """From `begin` to `end`, for groups by name: {"worker": /proc/self/cgroup}."""

    def __init__(self, groups: Mapping[str, Path], root: Path = machine.CGROUP_ROOT) -> None:
        self._groups, self._root = groups, root
        self._before: dict[str, Stops] = {}
        self._began_ns = 0

    def begin(self) -> None:
        self._before, self._began_ns = self._read(), time.perf_counter_ns()

    def end(self) -> Json:
        """{"run_us": 5000000, "cores": 2, "worker": {"periods": 3, "stopped_us": 1200}}; a group the
        kernel tells nothing of is left out."""
        run_us = (time.perf_counter_ns() - self._began_ns) // 1000
        after = self._read()
        spent = {name: after[name] - before for name, before in self._before.items() if name in after}
        return {
            "run_us": run_us,
            "cores": machine.cores_seen(),
            **{name: {"periods": one.periods, "stopped_us": one.stopped_us} for name, one in spent.items()},
        }

    def _read(self) -> dict[str, Stops]:
        found = {name: stops(own, self._root) for name, own in self._groups.items()}
        return {name: one for name, one in found.items() if one is not None}


def stopped_share(throttled: Mapping[str, object]) -> float:
    """The longest stop of a group as a part of the run; 0 where nothing is known. The kernel adds the stops of all
    cores up."""
    run_us, cores = throttled.get("run_us"), throttled.get("cores")
    groups = [group for group in throttled.values() if isinstance(group, Mapping)]
    if not isinstance(run_us, int) or run_us <= 0:
        return 0.0
    per_core = run_us * (cores if isinstance(cores, int) and cores > 0 else 1)
    return max((group["stopped_us"] / per_core for group in groups), default=0.0)
