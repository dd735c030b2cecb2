"""What the kernel says of quotas, as files: version 2, version 1, groups above, groups that cannot be seen."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from labs.llama.local import listening_pid
from labs.llama.throttle import Stops, stops

V2 = "usage_usec 9\nuser_usec 8\nsystem_usec 1\nnr_periods 40\nnr_throttled {}\nthrottled_usec {}\n"


def test_version_2_adds_up_the_group_and_those_above(tmp_path: Path) -> None:
    root, own = tmp_path / "cgroup", tmp_path / "own"
    (root / "pod/box").mkdir(parents=True)
    own.write_text("0::/pod/box\n")
    assert stops(own, root) is None, "no cpu controller here"
    (root / "cpu.stat").write_text("usage_usec 9\nuser_usec 8\nsystem_usec 1\n")  # the root has no quota
    (root / "pod/cpu.stat").write_text(V2.format(2, 500))
    (root / "pod/box/cpu.stat").write_text(V2.format(7, 90_000))
    assert stops(own, root) == Stops(9, 90_500)


def test_version_1_counts_in_nanoseconds(tmp_path: Path) -> None:
    root, own = tmp_path / "cgroup", tmp_path / "own"
    (root / "cpu").mkdir(parents=True)
    own.write_text("4:cpu,cpuacct:/docker/abc\n3:memory:/docker/abc\n")
    (root / "cpu/cpu.stat").write_text("nr_periods 40\nnr_throttled 3\nthrottled_time 2500000\n")
    assert stops(own, root) == Stops(3, 2500)


def test_what_lies_outside_is_not_taken_for_ours(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("0::/../other\n")
    (tmp_path / "cpu.stat").write_text(V2.format(7, 90_000))
    assert stops(own, tmp_path) is None
    assert stops(tmp_path / "gone", tmp_path) is None


def test_the_process_behind_a_loopback_address(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert listening_pid(f"http://127.0.0.1:{port}") == os.getpid()
        assert listening_pid(f"http://localhost:{port}") == os.getpid()
        assert listening_pid(f"http://192.0.2.1:{port}") is None
        assert listening_pid(f"http://llama:{port}") is None
    assert listening_pid(f"http://127.0.0.1:{port}") is None, "not what was found before"
    with socket.create_server(("127.0.0.1", port)):
        assert listening_pid(f"http://127.0.0.1:{port}") == os.getpid(), (
            "a new socket, for a server that came back"
        )
    assert listening_pid("http://127.0.0.1:8080", tmp_path) is None, "no such files here"
