"""The fake server as a child process: started, waited for, made faulty, stopped."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from labs.llama.process import free_port
from tests.fakellama.faults import Kind

ROOT = Path(__file__).resolve().parents[2]
START_S = 10.0
STOP_S = 5.0


class FakeServer:
    """A context manager with the face of `labs.llama.process.EmbeddedServer`; `extra` are flags of
    `tests.fakellama.settings`. `port` keeps an address over a restart."""

    def __init__(
        self, folder: Path, *extra: str, api_key: str | None = None, port: int | None = None
    ) -> None:
        self.folder = folder
        self.log_path = folder / "server.log"
        self.slot_save_path = folder / "slots"
        self.port = port or free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        self._extra = extra
        self._api_key = api_key
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._child is not None, "it was not started"
        return self._child.pid

    @property
    def is_alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def faults(self, *faults: dict[str, Any]) -> None:
        """These from now on, and no others. Raises ValueError where it does not know one."""
        self._door("POST", json.dumps(faults))

    def fault(self, kind: Kind, **more: Any) -> None:
        self.faults({"kind": kind, **more})

    def start(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        words = ["--port", str(self.port), "--log", str(self.log_path), "--die-with-parent", str(os.getpid())]
        words += ["--slot-save-path", str(self.slot_save_path), *self._extra]
        key = {"LLAMA_API_KEY": self._api_key} if self._api_key else {}
        with self.log_path.open("ab") as log:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "tests.fakellama", *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env={**os.environ, **key},
            )
        deadline = time.monotonic() + START_S
        while not self._answers():
            if not self.is_alive or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"it did not start:\n{self.log_path.read_text()[-3000:]}")
            time.sleep(0.01)
        return self

    def stop(self) -> None:
        if self._child is None or self._child.poll() is not None:
            return
        self._child.terminate()
        try:
            self._child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _answers(self) -> bool:
        try:
            self._door("GET")
        except OSError:
            return False
        return True

    def _door(self, method: str, body: str | None = None) -> None:
        call = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            call.request(method, "/fake/faults", body)
            said = call.getresponse()
            text = said.read()
        finally:
            call.close()
        if said.status != 200:
            raise ValueError(text.decode())
