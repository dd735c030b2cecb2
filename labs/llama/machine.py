"""What this process may use: cores and memory, by affinity, cgroup (v2 and v1) and the machine itself."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CGROUP_ROOT = Path("/sys/fs/cgroup")
OWN_CGROUP = Path("/proc/self/cgroup")
# cgroup v1 says 'no limit' with a number near 2**63.
_NO_LIMIT_BYTES = 1 << 60


@dataclass(frozen=True, slots=True)
class Allowance:
    """A number and where it comes from, for the sentence that is printed."""

    value: int
    source: str


def cores_seen() -> int:
    """Cores that this process may run on, whatever its quota."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads(root: Path = CGROUP_ROOT, own: Path = OWN_CGROUP) -> Allowance:
    """The smaller of the CPU affinity and the cgroup's quota, whole cores, at least 1: one thread more than the quota
    has cores would be stopped by the kernel in every period."""
    if hasattr(os, "sched_getaffinity"):
        cores = Allowance(cores_seen(), "CPU affinity")
    else:
        cores = Allowance(os.cpu_count() or 1, "CPU count")
    quotas = [quota for folder in cgroup_folders(root, own, "cpu") if (quota := _quota(folder)) is not None]
    if quotas and (quota_cores := max(1, int(min(quotas)))) < cores.value:
        return Allowance(quota_cores, "cgroup CPU quota")
    return cores


def memory_bytes(root: Path = CGROUP_ROOT, own: Path = OWN_CGROUP) -> Allowance:
    """The smaller of the machine's memory and the cgroup's limit."""
    total = Allowance(
        os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "this machine's memory",
    )
    limits = []
    for folder in cgroup_folders(root, own, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = read_text(folder / name)
            if text.isdigit() and int(text) < _NO_LIMIT_BYTES:
                limits.append(int(text))
    if limits and min(limits) < total.value:
        return Allowance(min(limits), "cgroup memory limit")
    return total


def cgroup_folders(root: Path, own: Path, controller: str) -> Iterator[Path]:
    """This process's cgroup and all above it: the tightest of them counts. In a container the path that
    the kernel names may not exist below the mount; then the mount itself is ours."""
    for line in read_text(own).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            base = root
        elif controller in controllers.split(","):
            base = root / controller
        else:
            continue
        folder = base / path.lstrip("/")
        while folder != base and base in folder.parents:
            yield folder
            folder = folder.parent
        yield base


def _quota(folder: Path) -> float | None:
    words = read_text(folder / "cpu.max").split()
    if not words:
        words = [
            read_text(folder / "cpu.cfs_quota_us"),
            read_text(folder / "cpu.cfs_period_us"),
        ]
    if len(words) != 2 or not all(word.isdigit() for word in words) or int(words[1]) == 0:
        return None  # 'max' in v2, -1 in v1
    return int(words[0]) / int(words[1])


def read_text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
