"""The embedded server as a process: it refuses plainly, and it does not outlive its parent."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from labs.llama.flags import CannotStart
from labs.llama.process import EmbeddedServer, command, free_port
from tests.llama.streaming import wait_until


def run(*flags: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "labs.llama.embedded", "--port", str(free_port()), *flags],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environ},
    )


def test_too_little_memory_is_said_with_the_numbers() -> None:
    got = run("--cache-ram", "99999999")
    assert got.returncode == 2
    assert "does not start" in got.stderr
    assert "99,999,999 MiB" in got.stderr


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_text("nothing")
    got = run(LABHUB_MODEL=str(tmp_path / "x.gguf"))
    assert got.returncode == 2
    assert "x.gguf is not a readable GGUF model" in got.stderr


def test_a_binary_gets_the_same_flags_and_the_key_by_environment(tmp_path: Path) -> None:
    binary = tmp_path / "llama-server"
    binary.write_text('#!/bin/sh\necho "args $@"\necho "key $LLAMA_API_KEY"\n')
    binary.chmod(0o755)
    got = run("--slots", "3", "--api-key", "secret", LABHUB_LLAMA_BINARY=str(binary))
    assert got.returncode == 0
    args = got.stdout.partition("args ")[2].partition("\n")[0]
    assert "--parallel 3" in args
    assert "--cache-ram 0" in args
    assert "secret" not in args
    assert "key secret" in got.stdout


def test_a_binary_that_is_not_there() -> None:
    got = run(LABHUB_LLAMA_BINARY="/nowhere/llama-server")
    assert got.returncode == 2
    assert "/nowhere/llama-server" in got.stderr


def test_a_server_that_cannot_start_tells_why(tmp_path: Path) -> None:
    with (
        pytest.raises(CannotStart, match="99,999,999 MiB"),
        EmbeddedServer(tmp_path, "--cache-ram", "99999999"),
    ):
        pass


@pytest.mark.server
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's end")
def test_it_dies_with_its_parent(tmp_path: Path) -> None:
    """A parent that is killed outright cannot stop it; the kernel does."""
    log, port = tmp_path / "server.log", free_port()
    child = command(port, log, "--die-with-parent")
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import subprocess, time; print(subprocess.Popen({child!r}).pid, flush=True); time.sleep(600)",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        wait_until(lambda: log.exists() and "listening" in log.read_text(), 60)
        parent.send_signal(signal.SIGKILL)
    wait_until(lambda: not alive(pid))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_who_started_it_hears_why_although_the_log_is_a_file(tmp_path: Path) -> None:
    got = run("--log", str(tmp_path / "log"), LABHUB_LLAMA_BINARY="/nowhere/llama-server")
    assert got.returncode == 2
    assert "/nowhere/llama-server" in got.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="the loader's paths are Linux's")
def test_without_the_systems_openmp_the_wheels_is_taken() -> None:
    """The program is started anew with the wheel's folder first on the loader's path; with it there, it goes on."""
    script = (
        "import ctypes, labs.llama.openmp as openmp\n"
        "openmp._loads = lambda: False\n"
        "print('begun', flush=True)\n"
        "openmp.find_openmp()\n"
        "ctypes.CDLL(openmp.NAME)\n"
        "print(next(line for line in open('/proc/self/maps') if 'gomp' in line or 'libomp' in line))\n"
    )
    got = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert got.stdout.count("begun") == 2
    assert "cmeel.prefix/lib" in got.stdout
