"""scripts/bench-boards: a live board under a class that looks on while attempts are graded.

Every socket must end with the newest state; the web process may not take more than a core.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import socket
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.live.bench.__main__ import _cpu_s
from tests.live.servers import Daphne, Valkey

WEB_CORES = 1.0
STRAGGLERS_S = 4.0


@dataclass
class Sockets:
    """Raw sockets and one epoll loop, which keeps the bytes and looks at them when all is over."""

    port: int
    cookie: str
    path: str
    reads: dict[int, bytearray] = field(default_factory=dict)
    over: threading.Event = field(default_factory=threading.Event)
    _open: list[socket.socket] = field(default_factory=list)

    def connect(self, count: int) -> None:
        host = f"127.0.0.1:{self.port}"
        for _ in range(count):
            one = socket.create_connection(("127.0.0.1", self.port))
            one.sendall(
                f"GET {self.path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nCookie: {self.cookie}\r\n"
                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
            )
            self._open.append(one)
            self.reads[one.fileno()] = bytearray()

    def read(self) -> None:
        epoll = select.epoll()
        by_fd = {one.fileno(): one for one in self._open}
        for fd in by_fd:
            epoll.register(fd, select.EPOLLIN)
        while not self.over.is_set():
            for fd, _ in epoll.poll(0.2):
                data = by_fd[fd].recv(1 << 20)
                if not data:
                    epoll.unregister(fd)
                self.reads[fd] += data

    def versions(self) -> list[list[int]]:
        """Of each socket, the versions that came, in order."""
        return [_versions(bytes(data)) for data in self.reads.values()]


def _versions(buffer: bytes) -> list[int]:
    found = []
    _head, _end, buffer = buffer.partition(b"\r\n\r\n")
    while len(buffer) >= 4:
        size, start = buffer[1], 2
        if size == 126:
            size, start = int.from_bytes(buffer[2:4], "big"), 4
        elif size == 127:
            size, start = int.from_bytes(buffer[2:10], "big"), 10
        if len(buffer) < start + size:
            break
        if buffer[0] == 0x81:
            said = json.loads(buffer[start : start + size])
            if said["kind"] == "board":
                found.append(int(said["version"]))
        buffer = buffer[start + size :]
    return found


def world(students: int) -> dict[str, Any]:
    import django

    django.setup()
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.test import Client
    from django.utils import timezone

    from labs.models import Attempt, Course, Enrolment, State

    call_command("migrate", verbosity=0)
    course = Course.objects.create(slug="bench", title="Bench")
    users = User.objects.bulk_create([User(username=f"s{number}") for number in range(students)])
    Enrolment.objects.bulk_create([Enrolment(user=user, course=course) for user in users])
    attempts = Attempt.objects.bulk_create(
        [
            Attempt(
                course=course,
                user=user,
                step="voice-turn",
                step_version=1,
                seed_number=0,
                state=State.GRADED,
                changed_at=timezone.now(),
            )
            for user in users
        ]
    )
    client = Client()
    client.force_login(users[0], "django.contrib.auth.backends.ModelBackend")
    cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    return {"course": course, "attempts": attempts, "cookie": cookie}


def grade(made: dict[str, Any], rate: float, seconds: float) -> int:
    """Enters one attempt after another on the board; gives the last version."""
    from labs.actions.board import enter
    from labs.measure.recording import RunRecord, ServerFacts
    from labs.models import BoardState
    from labs.steps.base import Score

    server = ServerFacts(build="b", model="m.gguf", n_ctx=4096, slots=2)
    due_s = time.monotonic()
    for number in range(round(rate * seconds)):
        attempt = made["attempts"][number % len(made["attempts"])]
        detail = {"prompt_n": number, "sentence_tokens": 60, "opened_ms": 700.5}
        enter(attempt, [Score("voice", 500.0 + number % 97, detail, RunRecord({}, server))])
        due_s += 1 / rate
        time.sleep(max(due_s - time.monotonic(), 0))
    return BoardState.objects.get(board="voice").version


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench-boards", description=__doc__)
    parser.add_argument("--sockets", type=int, default=300)
    parser.add_argument("--students", type=int, default=300)
    parser.add_argument("--rate", type=float, default=30.0, help="attempts graded a second")
    parser.add_argument("--seconds", type=float, default=20.0)
    got = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-boards-") as name:
        folder = Path(name)
        with Valkey(folder) as valkey:
            environ = {
                "LABHUB_DEMO": "1",
                "LABHUB_LOG_LEVEL": "WARNING",
                "DATABASE_URL": f"sqlite://{folder}/bench.sqlite3",
                "REDIS_URL": valkey.url,
                "DJANGO_SETTINGS_MODULE": "labhub_voice.settings",
            }
            os.environ.update(environ)
            made = world(got.students)
            with Daphne(folder, environ) as daphne:
                sockets = Sockets(daphne.port, made["cookie"], "/ws/courses/bench/boards/voice/ko/")
                sockets.connect(got.sockets)
                reader = threading.Thread(target=sockets.read)
                reader.start()
                before_s, began_s = _cpu_s(daphne.pid), time.monotonic()
                last = grade(made, got.rate, got.seconds)
                spent_s = time.monotonic() - began_s
                cores = (_cpu_s(daphne.pid) - before_s) / spent_s
                time.sleep(STRAGGLERS_S)
                sockets.over.set()
                reader.join()
            versions = sockets.versions()
    late = sum(not seen or seen[-1] != last for seen in versions)
    disorder = sum(seen != sorted(seen) for seen in versions)
    pushes = sum(map(len, versions)) / len(versions)
    good = not late and not disorder and cores <= WEB_CORES
    print(
        f"{got.sockets} sockets, {got.students} students on the board, "
        f"{got.rate:g} graded a second for {spent_s:.0f} s:\n"
        f"{late} sockets without the last state, {disorder} out of order, {pushes:.1f} pushes each, "
        f"web {cores:.2f} cores (limit {WEB_CORES:g})  {'PASS' if good else 'MISS'}"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
