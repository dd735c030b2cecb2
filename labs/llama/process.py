"""The embedded server as a child process: started, waited for, stopped."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from labs.llama.client import LlamaClient
from labs.llama.flags import CannotStart

START_LIMIT_S = 120.0
STOP_LIMIT_S = 5.0
_POLL_S = 0.05


def free_port(host: str = "127.0.0.1", port: int = 0) -> int:
    """A port nobody listens on right now; OSError where a given one is taken."""
    with socket.socket() as probe:
        probe.bind((host, port))
        return int(probe.getsockname()[1])


def command(port: int, log_path: Path, *extra: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "labs.llama.embedded",
        "--port",
        str(port),
        "--log",
        str(log_path),
        *extra,
    ]


def wait_until_ready(
    base_url: str,
    child: subprocess.Popen[bytes],
    log_path: Path,
    api_key: str | None = None,
    limit_s: float = START_LIMIT_S,
) -> None:
    """Returns when `/health` is ok; CannotStart with the log's end where the child died or time is up."""
    deadline = time.monotonic() + limit_s
    with LlamaClient(base_url, api_key) as client:
        while time.monotonic() < deadline:
            if child.poll() is not None:
                raise CannotStart(f"it ended with code {child.returncode}\n{tail(log_path)}")
            if client.health().state == "ok":
                return
            time.sleep(_POLL_S)
    raise CannotStart(f"it was not ready after {limit_s:g} s\n{tail(log_path)}")


def tail(path: Path, lines: int = 12) -> str:
    try:
        return "\n".join(path.read_text("utf-8", "replace").splitlines()[-lines:])
    except OSError:
        return ""


class EmbeddedServer:
    """A context manager: a server of its own on a free port, ready when entered, gone when left.

    `extra` are further flags of `labs.llama.embedded`. It also ends when the thread that entered it does.
    """

    def __init__(self, folder: Path, *extra: str, api_key: str | None = None) -> None:
        self.folder = folder
        self.log_path = folder / "server.log"
        self.slot_save_path = folder / "slots"
        self.base_url = ""
        self._extra = extra
        self._api_key = api_key
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        if self._child is None:
            raise CannotStart("it was not started")
        return self._child.pid

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        self.base_url = f"http://127.0.0.1:{port}"
        life = (
            "--die-with-parent",
            str(os.getpid()),
            "--slot-save-path",
            str(self.slot_save_path),
        )
        environ = {
            **os.environ,
            **({"LLAMA_API_KEY": self._api_key} if self._api_key else {}),
        }
        # A refusal, said before the server's log takes over, belongs to the log too.
        with self.log_path.open("ab") as log:
            self._child = subprocess.Popen(
                command(port, self.log_path, *life, *self._extra),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=environ,
            )
        try:
            wait_until_ready(self.base_url, self._child, self.log_path, self._api_key)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """SIGTERM, and SIGKILL where that is not enough."""
        if self._child is None or self._child.poll() is not None:
            return
        self._child.terminate()
        try:
            self._child.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
