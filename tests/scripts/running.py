"""`scripts/run` as a person meets it: started in a terminal, read, stopped."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scripts.supervisor.identity import Identity

ROOT = Path(__file__).resolve().parents[2]
START_LIMIT_S = 120
STOP_LIMIT_S = 20


def wait_for(what: str, done: Callable[[], bool], limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while not done():
        assert time.monotonic() < deadline, f"not within {limit_s:g} s: {what}"
        time.sleep(0.05)


class Running:
    """One `scripts/run`. Always left with everything ended, whatever the test did."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.output = state.parent / f"output-{time.monotonic_ns()}"

    def __enter__(self) -> Running:
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [ROOT / "scripts" / "run", "--die-with-parent"],
                env=outside_environment(self.state),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()

    def said(self) -> str:
        return self.output.read_text(errors="replace")

    def wait_until_ready(self) -> str:
        """The address it prints."""
        wait_for(
            "the address is printed", lambda: "Ctrl-C stops" in self.said() or self.is_over(), START_LIMIT_S
        )
        found = re.search(r"LabHub Voice: (http://127\.0\.0\.1:\d+/)", self.said())
        assert found, self.said()
        return found.group(1)

    def is_over(self) -> bool:
        return self.process.poll() is not None

    def password(self, username: str) -> str:
        found = re.search(rf"^  {username} +(\S+)", self.said(), re.MULTILINE)
        assert found, self.said()
        return found.group(1)

    def recorded(self) -> dict[str, Identity]:
        processes: dict[str, Any] = json.loads((self.state / "state.json").read_text())["processes"]
        return {name: Identity(found["pid"], found["started"]) for name, found in processes.items()}


def outside_environment(state: Path) -> dict[str, str]:
    """What a stranger's shell has: none of the tests' own settings."""
    ours = ("LABHUB_", "DJANGO_", "DATABASE_URL", "REDIS_URL", "SECRET_KEY", "CELERY_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | {"LABHUB_STATE_DIR": str(state)}
