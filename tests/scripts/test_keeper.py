"""A keeper lives as long as its program, whatever becomes of the disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.supervisor.keeper import Keeper, longest_delay_s

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="needs a file that is always full")
def test_a_full_disk_costs_the_lines_of_a_log_and_not_the_program() -> None:
    keeper = Keeper.__new__(Keeper)
    keeper.quiet = True
    program = [sys.executable, "-c", "print('a' * 200_000); print('the end')"]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as child, FULL.open("wb", buffering=0) as log:
        keeper._copy_lines(child, log)
        assert child.wait(20) == 0


def test_the_longest_pause_may_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LABHUB_RESTART_S", raising=False)
    assert longest_delay_s() == 30
    monkeypatch.setenv("LABHUB_RESTART_S", "0.5")
    assert longest_delay_s() == 0.5
    monkeypatch.setenv("LABHUB_RESTART_S", "soon")
    with pytest.raises(SystemExit, match="soon"):
        longest_delay_s()
