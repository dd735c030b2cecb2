"""The supervisor with programs of a line each: asked, forced, bereft of a keeper, bereft of a program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.supervisor.identity import Identity, identify
from scripts.supervisor.keeper import GRACE_S
from scripts.supervisor.state import StateDir, recorded_processes
from tests.scripts.running import ROOT, wait_for

PROGRAM = """
import multiprocessing, os, sys
from pathlib import Path
from scripts.supervisor.manager import Supervisor
from scripts.supervisor.state import StateDir
from scripts.supervisor.topology import Command

multiprocessing.set_start_method("fork")
state = StateDir(Path(sys.argv[1]))
supervisor = Supervisor(state, Path.cwd(), lambda supervisor: "ready")
for name, program in (("plain", "pass"), ("stubborn", "signal.signal(signal.SIGTERM, signal.SIG_IGN)")):
    loop = f"import signal, time; {program}; open(sys.argv[1], 'w'); time.sleep(600)"
    words = [sys.executable, "-c", "import sys; " + loop, str(state.path / name)]
    supervisor.add(Command(name, words, os.environ))
supervisor.loop()
sys.exit(supervisor.returncode)
"""


@pytest.fixture
def state(tmp_path: Path) -> StateDir:
    return StateDir(tmp_path)


@pytest.fixture
def supervisor(state: StateDir) -> Iterator[subprocess.Popen[bytes]]:
    """Running, with both programs past their first line."""
    with subprocess.Popen([sys.executable, "-c", PROGRAM, str(state.path)], cwd=ROOT) as process:
        wait_for("both run", lambda: all((state.path / name).exists() for name in ("plain", "stubborn")), 20)
        wait_for("both are recorded", lambda: len(children(state)) == 2, 20)
        yield process
        process.kill()


def children(state: StateDir) -> list[Identity]:
    return recorded_processes(state.read())


def test_asked_once_it_waits_its_grace_and_then_ends_them_all(
    supervisor: subprocess.Popen[bytes], state: StateDir
) -> None:
    began = time.monotonic()
    supervisor.send_signal(signal.SIGTERM)
    assert supervisor.wait(GRACE_S + 20) == 0
    assert time.monotonic() - began >= GRACE_S
    assert not any(child.is_alive() for child in children(state))


def test_asked_twice_it_does_not_wait(supervisor: subprocess.Popen[bytes], state: StateDir) -> None:
    plain = Identity(**{k: state.read()["processes"]["plain"][k] for k in ("pid", "started")})
    began = time.monotonic()
    supervisor.send_signal(signal.SIGINT)
    # The first one has done its work, and one keeper is gone: the case in which events of multiprocessing hang.
    wait_for("the plain program ends", lambda: not plain.is_alive(), 20)
    supervisor.send_signal(signal.SIGINT)
    assert supervisor.wait(20) == 0
    assert time.monotonic() - began < GRACE_S
    assert not any(child.is_alive() for child in children(state))


def test_a_program_that_dies_is_started_again(supervisor: subprocess.Popen[bytes], state: StateDir) -> None:
    before = state.read()["processes"]["plain"]
    os.kill(before["pid"], signal.SIGKILL)
    wait_for("it runs again", lambda: state.read()["processes"]["plain"] != before, 20)
    assert supervisor.poll() is None


@pytest.mark.skipif(sys.platform != "linux", reason="needs the kernel to end a dead keeper's program")
def test_without_a_keeper_it_ends_and_says_that_it_failed(
    supervisor: subprocess.Popen[bytes], state: StateDir
) -> None:
    keepers = keepers_of(supervisor.pid)
    assert len(keepers) == 2
    os.kill(keepers[0], signal.SIGKILL)
    assert supervisor.wait(GRACE_S + 20) == 1
    assert not any(child.is_alive() for child in children(state))


def keepers_of(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found if identify(int(child))]
