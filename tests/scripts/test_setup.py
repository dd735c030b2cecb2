"""scripts/setup on machines that lack something: it says what, and how to get it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.scripts.running import ROOT

TOOLS = ["sh", "cat", "cmp", "dirname", "rm"]


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A checkout without an environment, and a PATH with a shell's own tools only."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "bin").mkdir()
    for name in (
        "scripts/setup",
        "scripts/uv.txt",
        "requirements.txt",
        "requirements-dev.txt",
        "pyproject.toml",
    ):
        shutil.copy(ROOT / name, tmp_path / name)
    for tool in TOOLS:
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    return tmp_path


def setup(machine: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [machine / "scripts" / "setup"],
        env={"PATH": str(machine / "bin")},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


def put_python(machine: Path, body: str) -> None:
    path = machine / "bin" / "python3"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_without_a_python_it_says_which_one_is_needed(machine: Path) -> None:
    done = setup(machine)
    assert done.returncode == 1
    assert "Python 3.11 or newer is needed" in done.stderr


def test_an_old_python_is_not_taken(machine: Path) -> None:
    put_python(machine, 'case "$2" in *version_info*) exit 1 ;; esac')
    done = setup(machine)
    assert done.returncode == 1
    assert "Python 3.11 or newer is needed" in done.stderr


def test_without_venv_it_prints_the_line_that_installs_it(machine: Path) -> None:
    put_python(machine, 'case "$2" in *ensurepip*) exit 1 ;; *print*) echo 3.12 ;; esac')
    done = setup(machine)
    assert done.returncode == 1
    assert "sudo apt-get install python3.12-venv" in done.stderr


def test_the_locks_have_hashes_and_no_addresses() -> None:
    locks = sorted(ROOT.glob("requirements*.txt"))
    assert len(locks) == 4
    for lock in locks:
        text = lock.read_text()
        assert "://" not in text and "--index-url" not in text
        for entry in re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]:
            assert "--hash=sha256:" in entry, entry
