"""A recorded process is ended only while it is the one that was recorded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from scripts.supervisor.identity import Identity, end, identify, start_time

SLEEPER = "import signal, time; print(flush=True); time.sleep(60)"
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
)


def start(program: str) -> subprocess.Popen[bytes]:
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, start_new_session=True)
    assert child.stdout is not None
    with child.stdout:
        child.stdout.readline()
    return child


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    child = start(SLEEPER)
    yield child
    child.kill()
    child.wait()


def test_two_looks_at_one_process_agree(sleeper: subprocess.Popen[bytes]) -> None:
    assert identify(sleeper.pid) == identify(sleeper.pid)
    assert identify(os.getpid()) != identify(sleeper.pid)


def test_the_dead_and_the_unreaped_have_no_start_time(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert start_time(sleeper.pid) is None
    sleeper.wait()
    assert start_time(sleeper.pid) is None


def test_a_stranger_with_a_recorded_number_is_left_alone(sleeper: subprocess.Popen[bytes]) -> None:
    assert end([Identity(sleeper.pid, "another time")], grace_s=1) == []
    assert sleeper.poll() is None


def test_what_was_recorded_is_asked_to_end(sleeper: subprocess.Popen[bytes]) -> None:
    who = identify(sleeper.pid)
    assert who is not None
    assert end([who], grace_s=5) == [who]
    assert sleeper.wait(1) == -signal.SIGTERM


def test_what_does_not_listen_is_killed() -> None:
    child = start(STUBBORN)
    who = identify(child.pid)
    assert who is not None
    end([who], grace_s=0.3)
    assert child.wait(5) == -signal.SIGKILL
