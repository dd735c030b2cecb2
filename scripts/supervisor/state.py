"""The state directory: one supervisor at a time, and state.json, which says what runs where."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scripts.supervisor.identity import Identity, identify

Json = dict[str, Any]


class StateDir:
    """Readable by its owner only: it holds the database, the demo's passwords and the signing key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for folder in (path, self.logs, path / "valkey", path / "slots"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @property
    def logs(self) -> Path:
        return self.path / "log"

    def lock(self, patience_s: float) -> bool:
        """Held until this process ends. POSIX record locks are not inherited, so no child can keep it."""
        self._lock = (self.path / "lock").open("w")
        deadline = time.monotonic() + patience_s
        while True:
            try:
                fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if time.monotonic() > deadline:
                    self.release()
                    return False
                time.sleep(0.1)
            else:
                return True

    def release(self) -> None:
        self._lock.close()

    def secret_key_file(self) -> Path:
        """The signing key of this installation, made once. For demo mode only."""
        path = self.path / "secret_key"
        if not path.exists():
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_urlsafe(48))
        return path

    def read(self) -> Json:
        """{} where nothing was written yet, or where it cannot be read."""
        try:
            found = json.loads(self._state.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return {}
        return found if isinstance(found, dict) else {}

    def write(self, state: Json) -> None:
        with self._exclusive():
            self._replace(state)

    def update(self, change: Callable[[Json], None]) -> None:
        """Safe against the other processes that record themselves."""
        with self._exclusive():
            state = self.read()
            change(state)
            self._replace(state)

    def record(self, name: str, pid: int) -> None:
        who = identify(pid)

        def change(state: Json) -> None:
            processes = state.setdefault("processes", {})
            if who is None:
                processes.pop(name, None)
            else:
                processes[name] = {
                    "pid": who.pid,
                    "started": who.started,
                    "log": str(self.logs / f"{name}.log"),
                }

        self.update(change)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        with (self.path / "state.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _replace(self, state: Json) -> None:
        new = self._state.with_suffix(".new")
        new.write_text(json.dumps(state, indent=1) + "\n")
        new.replace(self._state)

    @property
    def _state(self) -> Path:
        return self.path / "state.json"


def recorded_processes(state: Json) -> list[Identity]:
    return [Identity(found["pid"], found["started"]) for found in state.get("processes", {}).values()]


def recorded_supervisor(state: Json) -> Identity | None:
    found = state.get("supervisor")
    return Identity(found["pid"], found["started"]) if found else None
