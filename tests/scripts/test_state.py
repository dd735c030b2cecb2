"""The state directory: private, and for one supervisor at a time."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

from scripts.supervisor.state import StateDir, recorded_processes
from tests.scripts.running import ROOT

HOLD = """
import sys
from pathlib import Path
from scripts.supervisor.state import StateDir
state = StateDir(Path(sys.argv[1]))
print(state.lock(0), flush=True)
sys.stdin.read()
"""


def hold(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def test_only_one_process_holds_it_and_a_kill_frees_it(tmp_path: Path) -> None:
    with hold(tmp_path) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "True\n"
        assert StateDir(tmp_path).lock(0) is False
        first.kill()
        first.wait()
        state = StateDir(tmp_path)
        assert state.lock(5) is True
        state.release()


def test_the_key_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    key = StateDir(tmp_path / "s").secret_key_file()
    before = key.read_text()
    assert len(before) >= 40
    assert StateDir(tmp_path / "s").secret_key_file().read_text() == before
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o700


def test_what_is_recorded_can_be_found_again(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    state.write({"web_url": "x", "processes": {}})
    state.record("me", os.getpid())
    (found,) = recorded_processes(state.read())
    assert found.pid == os.getpid()
    assert found.is_alive()
    assert state.read()["web_url"] == "x"


def test_a_torn_file_is_an_empty_state(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    assert state.read() == {}
    (tmp_path / "state.json").write_text('{"processes": ')
    assert state.read() == {}
