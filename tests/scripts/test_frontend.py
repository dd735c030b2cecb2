"""scripts/frontend does what is missing and no more, whatever was cleaned away."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scripts.running import ROOT

Build = Callable[..., list[str]]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """With an `npm` and a `node` that write down that they were called."""
    for folder in ("scripts", "frontend/src", "static/build", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "frontend", tmp_path / "scripts")
    for name in ("package-lock.json", "build.mjs", "stdlib.py", "src/editor.js"):
        (tmp_path / "frontend" / name).write_text(f"{name}\n")
    for tool, also in (("npm", "mkdir -p node_modules"), ("node", ":")):
        program = tmp_path / ".venv" / "bin" / tool
        program.write_text(f"#!/bin/sh\n{also}\necho {tool} >>../called\n")
        program.chmod(0o755)
    return tmp_path


@pytest.fixture
def build(checkout: Path) -> Build:
    def run(*words: str) -> list[str]:
        (called := checkout / "called").write_text("")
        subprocess.run([checkout / "scripts" / "frontend", *words], check=True, capture_output=True)
        return called.read_text().split()

    return run


def test_once_and_again_where_an_input_has_changed(checkout: Path, build: Build) -> None:
    assert build() == ["npm", "node"]
    assert build() == build("dev") == []
    (checkout / "frontend" / "src" / "editor.js").write_text("changed\n")
    assert build() == ["node"]
    (checkout / "frontend" / "package-lock.json").write_text("changed\n")
    assert build("dev") == ["npm", "node"]


def test_the_bundles_alone_serve_pages_and_the_tests_want_the_packages_too(
    checkout: Path, build: Build
) -> None:
    build()
    shutil.rmtree(checkout / "frontend" / "node_modules")
    assert build() == []
    assert build("dev") == ["npm"]
    assert build("dev") == []
