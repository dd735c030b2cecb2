"""`voice-llm` from up to down, in a folder of its own."""

import json
import os
import signal
from pathlib import Path

import pytest

from labs import voice_llm
from labs.llama.detached import Detached
from labs.llama.process import free_port
from tests.llama.byte_server import ByteServer, Peer, answer
from tests.llama.streaming import wait_until


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGUAGE", "en")
    monkeypatch.delenv("LABHUB_ENDPOINT_URL", raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "voice-llm"


def run(folder: Path, verb: str, *more: str) -> int:
    return voice_llm.main([verb, "--dir", str(folder), *more])


@pytest.mark.parametrize("verb", ["status", "health", "props", "slots", "log", "down"])
def test_nothing_is_up(folder: Path, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, verb) == 1
    said = "".join(capsys.readouterr())
    assert "not up" in said or "no log" in said


def test_a_wrong_word(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "slots", "--frob") == 2
    assert "--frob" in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        run(folder, "dance")
    assert caught.value.code == 2


def test_up_that_cannot(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "up", "--port", str(free_port()), "--cache-ram", "99999999") == 1
    assert "99,999,999 MiB" in capsys.readouterr().err
    assert run(folder, "status") == 1


@pytest.mark.server
def test_up_to_down(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = str(free_port())
    try:
        assert run(folder, "up", "--port", port, "--ctx", "1024") == 0
        said = capsys.readouterr().out
        assert f"http://127.0.0.1:{port}" in said
        assert "2 slots, 512 tokens of context each" in said
        assert json.loads((folder / "health.json").read_text()) == {"status": "ok"}
        assert json.loads((folder / "props.json").read_text())["total_slots"] == 2
        assert [row["id"] for row in json.loads((folder / "slots.json").read_text())] == [0, 1]

        assert run(folder, "up") == 0
        assert "already" in capsys.readouterr().out
        for verb in ("status", "health", "props", "slots", "log"):
            assert run(folder, verb) == 0
        assert "listening" in capsys.readouterr().out

        server = Detached(folder).running()
        assert server is not None
        os.kill(server.pid, signal.SIGKILL)
        wait_until(lambda: Detached(folder).running() is None)
        assert run(folder, "status") == 1
        assert "without `down`" in capsys.readouterr().out
        assert run(folder, "up", "--port", port, "--ctx", "1024") == 0
        assert run(folder, "down") == 0
        assert run(folder, "down") == 1
        assert "stopped" in capsys.readouterr().out
    finally:
        Detached(folder).stop()


def test_another_process_with_the_old_number_is_left_alone(folder: Path) -> None:
    folder.mkdir()
    state = {"pid": os.getpid(), "born": "1", "url": "http://127.0.0.1:1"}
    (folder / "server.json").write_text(json.dumps(state))
    assert Detached(folder).running() is None
    assert run(folder, "down") == 1  # and we are still here
    assert not (folder / "server.json").exists()


def test_the_readers_speak_to_a_configured_server(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loading = b'{"error":{"message":"Loading model","type":"unavailable_error","code":503}}'

    def script(peer: Peer) -> None:
        peer.send(answer("503 Service Unavailable", loading))

    with ByteServer(script) as server:
        monkeypatch.setenv("LABHUB_ENDPOINT_URL", server.url)
        assert run(folder, "health") == 1
        assert "not a failure" in capsys.readouterr().out
        assert (folder / "health.json").read_bytes().rstrip() == loading
        assert run(folder, "up") == 0
        assert "Nothing was started" in capsys.readouterr().out
        assert run(folder, "log") == 1
