"""The whole product, as `scripts/run` starts it: real processes in a state directory of their own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[2]
READY_S = 120.0


@dataclass
class Site:
    """`times` shorten the engine's limits, as the drills do; nothing else differs from `scripts/run`. `words`: another
    program that starts and stops a site as that does, and keeps the same state file."""

    folder: Path
    times: Mapping[str, str] = field(default_factory=dict)
    words: Sequence[str] = ("-m", "scripts.supervisor")
    _process: subprocess.Popen[str] | None = None
    _visitors: list[Visitor] = field(default_factory=list)

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        environ = {**os.environ, **self.times, "LABHUB_STATE_DIR": str(self.folder)}
        environ.pop("DJANGO_SETTINGS_MODULE", None)
        with (self.folder / "supervisor.out").open("w") as out:
            self._process = subprocess.Popen(
                [sys.executable, *self.words, "--die-with-parent"],
                cwd=ROOT,
                env=environ,
                stdout=out,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        wait_for(self._is_ready, READY_S, (self.folder / "supervisor.out").read_text)

    def stop(self) -> None:
        for visitor in self._visitors:
            visitor.http.close()
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "supervisor.out").read_text()
        return "LabHub Voice: http" in (self.folder / "supervisor.out").read_text()

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "state.json").read_text())
        return found

    @property
    def url(self) -> str:
        return str(self.state["web_url"]).rstrip("/")

    def pid(self, name: str) -> int:
        return int(self.state["processes"][name]["pid"])

    def signal(self, name: str, number: int) -> None:
        """To the process and what it started; only ever to what this site's own state file names."""
        os.killpg(os.getpgid(self.pid(name)), number)

    def password(self, username: str) -> str:
        return str(json.loads((self.folder / "demo-logins.json").read_text())[username])

    def log_in(self, username: str, language: str = "en") -> Visitor:
        self._visitors.append(Visitor(self, username, language))
        return self._visitors[-1]


class Visitor:
    """A browser without scripts: cookies, forms, redirects."""

    def __init__(self, site: Site, username: str, language: str) -> None:
        self.http = httpx.Client(base_url=site.url, timeout=30, headers={"Accept-Language": language})
        self.post("/login/", {"username": username, "password": site.password(username)})

    def get(self, path: str) -> httpx.Response:
        return self.http.get(path, follow_redirects=True)

    def post(self, path: str, data: Mapping[str, Any], page: str | None = None) -> httpx.Response:
        shown = self.get(page or path).text
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', shown)
        assert token, shown[:500]
        fields = {**data, "csrfmiddlewaretoken": token[1]}
        headers = {"Referer": str(self.http.base_url)}
        return self.http.post(path, data=fields, headers=headers)

    def submit(self, step: str, round_key: str, data: Mapping[str, Any]) -> uuid.UUID:
        """Posts a round and gives the attempt's id."""
        path = f"/courses/demo/steps/{step}/"
        answer = self.post(path, {"submit_key": str(uuid.uuid4()), "round": round_key, **data})
        assert answer.status_code == 302, answer.text
        found = re.search(r'data-attempt="([0-9a-f-]{36})"', self.get(path).text)
        assert found
        return uuid.UUID(found[1])

    def state(self, attempt: uuid.UUID) -> dict[str, Any]:
        answer = self.get(f"/attempts/{attempt}/events")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def wait_for(
        self, attempt: uuid.UUID, what: Callable[[dict[str, Any]], bool], limit_s: float = 180
    ) -> dict[str, Any]:
        """Polls the attempt's public state until `what` holds."""
        found: dict[str, Any] = {}

        def holds() -> bool:
            found.clear()
            found.update(self.state(attempt))
            return what(found)

        wait_for(holds, limit_s, lambda: repr(found)[:2000])
        return found


def wait_for(holds: Callable[[], bool], limit_s: float, said: Callable[[], str] = str) -> None:
    """Asks ten times a second; fails with what `said` gives when the limit has passed."""
    until = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < until, f"not within {limit_s} s: {said()}"
        time.sleep(0.1)
