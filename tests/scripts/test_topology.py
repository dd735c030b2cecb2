"""Ports and environment of the local processes."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from scripts.supervisor.keeper import is_worth_showing
from scripts.supervisor.state import StateDir
from scripts.supervisor.topology import HOST, choose_places, commands, environment, free_port


def test_a_taken_port_gives_the_next_free_one() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert port < free_port(port) <= port + 100


def test_the_shell_of_another_project_does_not_reach_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://elsewhere/db")
    monkeypatch.setenv("SECRET_KEY", "known")
    monkeypatch.setenv("LABHUB_MODEL", "/a/model.gguf")
    found = environment(StateDir(tmp_path), choose_places(None))
    assert "DATABASE_URL" not in found
    assert "SECRET_KEY" not in found
    assert found["LABHUB_MODEL"] == "/a/model.gguf"
    assert found["REDIS_URL"].startswith(f"redis://{HOST}:")


def test_an_existing_llama_server_is_used_instead_of_ours(tmp_path: Path) -> None:
    places = choose_places("http://127.0.0.1:9")
    assert places.llama_url == "http://127.0.0.1:9"
    assert "llama" not in [command.name for command in commands(StateDir(tmp_path), places, {})]


def test_everything_listens_on_loopback_only(tmp_path: Path) -> None:
    for command in commands(StateDir(tmp_path), choose_places(None), {}):
        assert "0.0.0.0" not in command.words
        if command.name in {"valkey", "web"}:
            assert HOST in command.words


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b"2026-11-29 14:00:00 WARNING labs slow\n", True),
        (b"ValueError: no\n", True),
        (b'  File "x.py", line 1\n', False),
        (b"2026-11-29 14:00:00 INFO labs fine\n", False),
    ],
)
def test_the_terminal_shows_trouble_and_the_log_the_rest(line: bytes, shown: bool) -> None:
    assert is_worth_showing(line) is shown
