"""How many threads and how much memory: cgroup v1 and v2 as files."""

import os
from pathlib import Path

import pytest

from labs.llama import machine

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.fixture
def cgroup(tmp_path: Path) -> tuple[Path, Path]:
    """The mount, and the file that names our own group in it."""
    root, own = tmp_path / "cgroup", tmp_path / "own"
    (root / "pod/box").mkdir(parents=True)
    own.write_text("0::/pod/box\n")
    return root, own


@pytest.mark.parametrize(
    ("quota", "threads"),
    [("50000 100000", 1), ("10000 100000", 1), ("100000 100000", 1), ("190000 100000", 1)],
)
def test_a_quota_below_the_affinity_wins(cgroup: tuple[Path, Path], quota: str, threads: int) -> None:
    (cgroup[0] / "pod/box/cpu.max").write_text(quota)
    if CORES < 2:
        pytest.skip("one core leaves nothing to limit")
    assert machine.threads(*cgroup) == machine.Allowance(threads, "cgroup CPU quota")


@pytest.mark.parametrize("quota", ["max 100000", "9900000 100000", ""])
def test_no_quota_or_a_larger_one_leaves_the_affinity(cgroup: tuple[Path, Path], quota: str) -> None:
    (cgroup[0] / "pod/box/cpu.max").write_text(quota)
    assert machine.threads(*cgroup).value == CORES


@pytest.mark.skipif(CORES < 2, reason="one core leaves nothing to limit")
def test_the_tightest_group_above_counts(cgroup: tuple[Path, Path]) -> None:
    (cgroup[0] / "pod/box/cpu.max").write_text("max 100000")
    (cgroup[0] / "pod/cpu.max").write_text("100000 100000")
    assert machine.threads(*cgroup).value == 1


@pytest.mark.skipif(CORES < 2, reason="one core leaves nothing to limit")
def test_version_1_in_a_container_that_does_not_see_its_own_path(tmp_path: Path) -> None:
    root, own = tmp_path / "cgroup", tmp_path / "own"
    (root / "cpu").mkdir(parents=True)
    (root / "cpu/cpu.cfs_quota_us").write_text("100000\n")
    (root / "cpu/cpu.cfs_period_us").write_text("100000\n")
    own.write_text("4:cpu,cpuacct:/docker/abc\n3:memory:/docker/abc\n")
    assert machine.threads(root, own).value == 1


@pytest.mark.parametrize(
    ("name", "text"), [("memory.max", "2147483648"), ("memory.limit_in_bytes", "2147483648")]
)
def test_memory_limit(cgroup: tuple[Path, Path], name: str, text: str) -> None:
    (cgroup[0] / "pod/box" / name).write_text(text)
    (cgroup[0] / "pod" / name).write_text("9223372036854771712")  # v1's way to say none
    assert machine.memory_bytes(*cgroup) == machine.Allowance(2 << 30, "cgroup memory limit")


def test_without_cgroups_the_machine_itself(tmp_path: Path) -> None:
    found = machine.memory_bytes(tmp_path, tmp_path / "none")
    assert found.source == "this machine's memory"
    assert found.value > 1 << 27


def test_memory_limit_of_version_1_in_a_container(tmp_path: Path) -> None:
    root, own = tmp_path / "cgroup", tmp_path / "own"
    (root / "memory").mkdir(parents=True)
    (root / "memory/memory.limit_in_bytes").write_text("1073741824\n")
    own.write_text("4:cpu,cpuacct:/docker/abc\n3:memory:/docker/abc\n")
    assert machine.memory_bytes(root, own) == machine.Allowance(1 << 30, "cgroup memory limit")
