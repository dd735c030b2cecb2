"""scripts/bench-course: a large course's pages while its attempts and its boards' rows grow.

Each request goes through the site's whole stack in one process, in Korean, compressed.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

TARGET_MS = 300
LEVELS = "3000:100000,30000:100000,30000:1000000"
STUDENTS, STEPS, WAITING = 600, 12, 120
LINE = "| {:<37} | {:>7} | {:>7} | {:>7} | {:>10} | {:>7} | {:>9} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench-course", description=__doc__)
    parser.add_argument("--levels", default=LEVELS, help="attempts:rows of boards, growing")
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument(
        "--postgres", action="store_true", help="in a database of its own on the server of DATABASE_URL"
    )
    options = parser.parse_args()
    levels = [tuple(map(int, level.split(":"))) for level in options.levels.split(",")]
    with (
        tempfile.TemporaryDirectory(prefix="bench-course-") as name,
        _postgres(os.environ.get("DATABASE_URL", "")) if options.postgres else _sqlite(name) as url,
    ):
        os.environ |= {
            "LABHUB_DEMO": "1",
            "LABHUB_LOG_LEVEL": "ERROR",
            "LABHUB_STATE_DIR": name,
            "LABHUB_HOSTS": "testserver",
            "DATABASE_URL": url,
            "DJANGO_SETTINGS_MODULE": "labhub_voice.settings",
        }
        import django

        django.setup()
        from django.db import connection

        try:
            return run(levels, options.requests)
        finally:
            connection.close()


@contextmanager
def _sqlite(folder: str) -> Iterator[str]:
    yield f"sqlite://{folder}/bench.sqlite3"


@contextmanager
def _postgres(server: str) -> Iterator[str]:
    import psycopg

    name = f"bench_course_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{server.rpartition('/')[0]}/{name}"
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def run(levels: list[tuple[int, ...]], requests: int) -> int:
    from django.core.management import call_command
    from django.db import connection

    from labs.models import Attempt
    from labs.steps import all_steps
    from tests.actions.toy import ToyStep
    from tests.views.bench.course_rows import Class

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    steps = all_steps()
    for number in range(STEPS - len(steps)):
        steps[f"toy-{number}"] = type(f"Toy{number}", (ToyStep,), {"key": f"toy-{number}"})()
    made = Class.of(STUDENTS)
    slow = False
    for number, (attempts, rows) in enumerate(levels):
        began_s = time.monotonic()
        made.grow(attempts, rows)
        if number == 0:
            made.queue(WAITING)
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("VACUUM ANALYZE")  # as autovacuum does within minutes
        gc.collect()
        gc.freeze()  # a web process does not hold what this one made the class of
        print(
            f"\n{made.attempts:,} attempts, {made.rows:,} rows of boards ({Attempt.objects.count():,} attempts in all"
            f" with those copied for their rows; {WAITING} wait), made in {time.monotonic() - began_s:.0f} s\n"
            f"{connection.vendor}, Python {platform.python_version()}, {os.cpu_count()} cores,"
            f" load {os.getloadavg()[0]:.1f}\n"
        )
        print(LINE.format("", "p50 ms", "p95 ms", "max ms", "p95 cpu ms", "queries", "bytes"))
        for title, ask in asks(made).items():
            times_ms, cpu_ms, queries, size_bytes = measure(ask, requests)
            p95_ms = quantile(times_ms, 0.95)
            slow = slow or p95_ms > TARGET_MS
            figures = (quantile(times_ms, 0.5), p95_ms, times_ms[-1], quantile(cpu_ms, 0.95))
            print(
                LINE.format(title, *(f"{ms:.0f}" for ms in figures), queries, f"{size_bytes:,}"), flush=True
            )
    print(f"\nevery p95 {'is NOT' if slow else 'is'} at most {TARGET_MS} ms")
    return 1 if slow else 0


def asks(made: Any) -> dict[str, Callable[[], bytes]]:
    """What is measured: each gives the bytes of its answer."""
    from django.contrib.auth.models import User
    from django.test import Client
    from django.urls import reverse

    from labs.boards import BOARDS
    from labs.live.boards import View, _message, draw_with
    from labs.live.status import statuses
    from labs.models import Attempt, Enrolment, Role, State
    from labs.steps import all_steps
    from labs.views.boards import draw

    draw_with(draw)
    course = made.course
    teacher, _made = User.objects.get_or_create(username="teacher")
    Enrolment.objects.get_or_create(user=teacher, course=course, defaults={"role": Role.INSTRUCTOR})

    def browser(user: User) -> Client:
        client = Client(headers={"accept-encoding": "gzip", "accept-language": "ko"})
        client.force_login(user, "django.contrib.auth.backends.ModelBackend")
        return client

    staff, student = browser(teacher), browser(made.students[-1])

    def page(client: Client, name: str, *words: str, query: str = "") -> Callable[[], bytes]:
        where = reverse(name, args=words) + query

        def ask() -> bytes:
            answer = client.get(where)
            if answer.status_code != 200:
                raise RuntimeError(f"{where} answered {answer.status_code}")
            return answer.content

        return ask

    def pushed(board: str, audience: Any) -> Callable[[], bytes]:
        view = View(course.pk, board, audience, "ko")

        def ask() -> bytes:
            found = _message(view)
            if found is None:
                raise RuntimeError("the course is gone")
            return found[1].payload

        return ask

    waiting = list(Attempt.objects.filter(state=State.QUEUED).values_list("pk", flat=True))

    def places() -> bytes:
        return json.dumps([status.message() for status in statuses(waiting).values()]).encode()

    slug = course.slug
    found = {
        "states of all who wait, every 2 s": places,
        "gradebook": page(staff, "gradebook", slug),
        "gradebook by total": page(staff, "gradebook", slug, query="?sort=-total"),
        "gradebook, CSV": page(staff, "gradebook-csv", slug),
        "class now": page(staff, "class-now", slug),
        "projector, voice": page(staff, "board-projector", slug, "voice"),
        "student's steps": page(student, "home"),
        "student's step": page(student, "step", slug, next(iter(all_steps()))),
    }
    for key in BOARDS:
        found[f"board {key}, student"] = page(student, "board", slug, key)
        found[f"board {key}, staff"] = page(staff, "board", slug, key)
        found[f"board {key}, fetched by a student"] = page(student, "board-fragment", slug, key)
        found[f"board {key}, pushed to the class"] = pushed(key, "class")
        found[f"board {key}, pushed to staff"] = pushed(key, "staff")
    return found


def measure(ask: Callable[[], bytes], requests: int) -> tuple[list[float], list[float], int, int]:
    """Milliseconds of each request in order of size, by the wall and by this process' own work, its queries, its
    bytes. Where other work keeps the machine busy, the second says what the page costs."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as captured:
        size_bytes = len(ask())
        queries = len(captured)
    times_ms, cpu_ms = [], []
    for _ in range(requests):
        started, worked = time.perf_counter(), time.process_time()
        ask()
        times_ms.append((time.perf_counter() - started) * 1000)
        cpu_ms.append((time.process_time() - worked) * 1000)
    return sorted(times_ms), sorted(cpu_ms), queries, size_bytes


def quantile(ordered: list[float], share: float) -> float:
    """The smallest value that at least this share does not exceed."""
    return ordered[-(-len(ordered) * round(share * 100) // 100) - 1]


if __name__ == "__main__":
    sys.exit(main())
