"""The supervisor ends the embedded server for a new wish, once, and never one that is only just starting."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from labs.llama.wanted import Said, Wanted
from scripts.supervisor.follow import forget_what_failed, look
from scripts.supervisor.state import StateDir


@pytest.fixture
def state(tmp_path: Path) -> StateDir:
    return StateDir(tmp_path / "state")


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """Stands for the server; it leads a session of its own, as a kept program does."""
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as running:
        yield running
        running.kill()


def test_a_new_wish_ends_the_server_that_was_started_for_an_older_one(
    state: StateDir, child: subprocess.Popen[bytes]
) -> None:
    folder = state.path / "llama"
    state.record("llama", child.pid)
    assert not look(state, folder)  # it has not said anything yet
    Said(0, child.pid, "started").write(folder)
    assert not look(state, folder)
    Wanted(1, slots=3).write(folder)
    assert look(state, folder)
    assert child.wait(10) == -signal.SIGTERM
    assert not look(state, folder)  # gone, and not yet started again


def test_one_that_is_starting_is_let_to_say_what_for(state: StateDir, child: subprocess.Popen[bytes]) -> None:
    """What stands in the file is of the process before it."""
    folder = state.path / "llama"
    Said(0, 1, "started").write(folder)
    Wanted(1).write(folder)
    state.record("llama", child.pid)
    assert not look(state, folder)
    Said(1, child.pid, "started").write(folder)
    assert not look(state, folder)
    assert child.poll() is None


@pytest.mark.parametrize(
    ("wanted", "said", "stays"),
    [
        (Wanted(2, slots=3), Said(2, 1, "started"), True),
        (Wanted(2, slots=3), Said(2, 1, "failed"), False),
        (Wanted(3, runs=False), Said(3, 1, "stopped"), False),
        (Wanted(4, slots=3), Said(3, 1, "started"), False),  # nobody knows whether it would have started
    ],
)
def test_at_the_next_start_only_what_gave_a_server_is_tried_again(
    wanted: Wanted, said: Said, stays: bool, tmp_path: Path
) -> None:
    wanted.write(tmp_path)
    said.write(tmp_path)
    forget_what_failed(tmp_path)
    assert Wanted.read(tmp_path) == (wanted if stays else Wanted())
    assert Said.read(tmp_path) == Said()
