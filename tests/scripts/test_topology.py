"""Ports and environment of the local processes."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.supervisor.keeper import is_worth_showing
from scripts.supervisor.state import StateDir
from scripts.supervisor.topology import HOST, Places, choose_places, commands, environment, listen


@pytest.fixture
def places() -> Iterator[Places]:
    found = choose_places(None)
    with found.web_socket:
        yield found


def test_a_taken_port_gives_the_next_free_one() -> None:
    with listen(20_000) as first, listen(20_000) as second:
        assert 20_000 <= first.getsockname()[1] < second.getsockname()[1]


def test_the_web_port_is_held_from_the_choice_on(places: Places) -> None:
    host, port = places.web_socket.getsockname()
    assert (host, places.web_url) == (HOST, f"http://{HOST}:{port}/")
    with pytest.raises(OSError, match="in use"):
        socket.create_server((HOST, port))


def test_the_shell_of_another_project_does_not_reach_in(
    tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://elsewhere/db")
    monkeypatch.setenv("SECRET_KEY", "known")
    monkeypatch.setenv("LABHUB_MODEL", "/a/model.gguf")
    found = environment(StateDir(tmp_path), places)
    assert "DATABASE_URL" not in found
    assert "SECRET_KEY" not in found
    assert found["LABHUB_MODEL"] == "/a/model.gguf"
    assert found["REDIS_URL"].startswith(f"redis://{HOST}:")


def test_an_existing_llama_server_is_used_instead_of_ours(tmp_path: Path) -> None:
    places = choose_places("http://127.0.0.1:9")
    with places.web_socket:
        assert places.llama_url == "http://127.0.0.1:9"
        assert "llama" not in [command.name for command in commands(StateDir(tmp_path), places, {})]


def test_everything_listens_on_loopback_only(tmp_path: Path, places: Places) -> None:
    for command in commands(StateDir(tmp_path), places, {}):
        assert "0.0.0.0" not in command.words
        if command.name == "valkey":
            assert command.words[command.words.index("--bind") + 1] == HOST


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b"2026-11-29 14:00:00 WARNING labs slow\n", True),
        (b"ValueError: no\n", True),
        (b'  File "x.py", line 1\n', False),
        (b"2026-11-29 14:00:00 INFO labs fine\n", False),
        (b'{"at": "2026-11-29", "level": "ERROR", "logger": "labs"}\n', True),
        (b'{"at": "2026-11-29", "level": "INFO", "logger": "labs"}\n', False),
    ],
)
def test_the_terminal_shows_trouble_and_the_log_the_rest(line: bytes, shown: bool) -> None:
    assert is_worth_showing(line) is shown
