"""`scripts/drill-faults`: students play without a pause while one fault after another comes, each many times.

After each fault's round everything must fall quiet, and the books are read: nothing lost, doubled, charged for a fault
or stuck, no wrong verdict, and every open page has seen its end without a reload.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.drills import books
from tests.drills.classroom import Classroom, wait_until
from tests.drills.injuries import INJURIES, Injury, Scene, small_disk
from tests.drills.page import OpenPage
from tests.drills.student import Student, patiently
from tests.fakellama.process import FakeServer

STEPS = ("first-token", "cache-break")
# What the site of the drill bears; a wedged server lasts longer than its pause.
TIMES = {
    "LABHUB_BEAT_S": "1",
    "LABHUB_LEASE_S": "4",
    "LABHUB_SWEEP_S": "1",
    "LABHUB_FIRST_TOKEN_S": "6",
    "LABHUB_IDLE_S": "3",
    "LABHUB_RESTART_S": "1",
}
RECOVERY_LIMIT_S = 120.0
QUIET_LIMIT_S = 240.0
APART_S = 1.5
NO_SOCKET = 4  # every fourth student sits behind a proxy that lets no websocket through


@dataclass
class Round:
    """What one fault did, over all its times."""

    name: str
    times: int = 0
    touched: int = 0
    reruns: int = 0
    errored: int = 0
    reconnects: int = 0
    polls: int = 0
    longest_s: float = 0.0
    problems: list[str] = field(default_factory=list)

    HEAD = (
        "| fault | times | attempts touched | runs again | errored, uncharged | socket tries that failed | polls "
        "| longest recovery s | problems |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    )

    def row(self) -> str:
        return (
            f"| {self.name} | {self.times} | {self.touched} | {self.reruns} | {self.errored} | {self.reconnects} "
            f"| {self.polls} | {self.longest_s:.1f} | {len(self.problems)} |"
        )


class Drill:
    def __init__(self, scene: Scene, students: Sequence[Student], rng: random.Random) -> None:
        self.scene = scene
        self.students = students
        self.rng = rng
        self._checked: set[uuid.UUID] = set()
        self._pages: dict[str, int] = {}
        self._played: dict[str, int] = {}

    def hold(self, injury: Injury, times: int) -> Round:
        from labs.models import Attempt, Run, State

        found = Round(injury.name)
        last_run = _newest_run()
        touched: set[uuid.UUID] = set()
        for student in self.students:
            student.go()
        for turn in range(times):
            self.scene.turn = turn
            try:
                touched |= self._once(injury, found)
            except AssertionError as error:
                found.problems.append(f"time {turn + 1}: {error}")
                break
            found.times += 1
        for student in self.students:
            student.rest()
        if not wait_until(lambda: all(one.is_resting() for one in self.students), QUIET_LIMIT_S):
            found.problems.append(f"not quiet within {QUIET_LIMIT_S:.0f} s")
        if not wait_until(_all_up, RECOVERY_LIMIT_S):
            found.problems.append("a server did not come back")
        runs = Run.objects.filter(pk__gt=last_run)
        found.touched = len(touched)
        found.reruns = runs.filter(accepts__isnull=True).count()
        fresh = Attempt.objects.filter(runs__pk__gt=last_run, state=State.ERRORED, charged=False)
        found.errored = fresh.distinct().count()
        found.problems += self._read_books()
        for page in self._new_pages():
            found.reconnects += page.reconnects
            found.polls += page.polls
        return found

    def _once(self, injury: Injury, found: Round) -> set[uuid.UUID]:
        """One time: something runs, the fault comes and goes, and the site is well again. Returns who was there."""
        assert wait_until(self._is_loaded, RECOVERY_LIMIT_S), "nothing runs"
        time.sleep(self.rng.random() * APART_S)
        live, hit = _live(), _running()
        began, began_s = time.time(), time.monotonic()
        injury.inflict(self.scene)

        def well() -> bool:
            return patiently(
                lambda: (
                    not (hit & _running())
                    and _all_up()
                    and _recorded_since(began)
                    and injury.is_mended(self.scene, began)
                )
            )

        is_well = wait_until(well, RECOVERY_LIMIT_S)
        found.longest_s = max(found.longest_s, time.monotonic() - began_s)
        assert is_well, f"not well again within {RECOVERY_LIMIT_S:.0f} s"
        return live

    def _is_loaded(self) -> bool:
        """Something runs, and half of the students look on."""
        return (
            2 * sum(student.is_following() for student in self.students) >= len(self.students)
            and _something_runs()
        )

    def _read_books(self) -> list[str]:
        """Each attempt and each page once."""
        from labs.models import TERMINAL, Attempt

        submitted = {key: attempt for one in self.students for key, attempt in one.submitted.items()}
        problems = books.problems(submitted, self._checked)
        self._checked |= set(Attempt.objects.filter(state__in=TERMINAL).values_list("pk", flat=True))
        for student in self.students:
            problems += student.problems
            student.problems.clear()
            for played in student.played[self._played.get(student.name, 0) :]:
                problems += played.mistakes
            self._played[student.name] = len(student.played)
            for page in student.pages[self._pages.get(student.name, 0) :]:
                problems += [f"{student.name}: {problem}" for problem in page.problems]
        return problems

    def _new_pages(self) -> Iterator[OpenPage]:
        for student in self.students:
            yield from student.pages[self._pages.get(student.name, 0) :]
            self._pages[student.name] = len(student.pages)


def _newest_run() -> int:
    from labs.models import Run

    return Run.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def _live() -> set[uuid.UUID]:
    from labs.models import Attempt, State

    live = Attempt.objects.filter(state__in=[State.QUEUED, State.RUNNING])
    return set(live.values_list("pk", flat=True))


def _running() -> set[int]:
    from labs.models import Run

    return set(Run.objects.filter(outcome=Run.Outcome.NONE).values_list("pk", flat=True))


def _something_runs() -> bool:
    return bool(patiently(_running))


def _recorded_since(began: float) -> bool:
    from datetime import UTC, datetime

    from labs.models import Run

    since = datetime.fromtimestamp(began, UTC)
    return Run.objects.filter(started_at__gt=since, outcome=Run.Outcome.RECORDED).exists()


def _all_up() -> bool:
    from labs.models import Endpoint

    return not Endpoint.objects.exclude(state=Endpoint.State.UP).exists()


@contextlib.contextmanager
def drill(folder: Path, students: int, endpoints: int, scale: float, seed: int) -> Iterator[Drill]:
    """A site, its servers and its students, who rest."""
    with contextlib.ExitStack() as stack:
        fakes = [
            stack.enter_context(FakeServer(folder / f"fake-{number}", "--scale", str(scale)))
            for number in range(endpoints)
        ]
        room = Classroom(folder / "site", [fake.base_url for fake in fakes], TIMES)
        stack.callback(room.stop)
        names = room.start(students)
        rng = random.Random(seed)
        people = [
            Student(
                name,
                room.site.url,
                room.cookie(name),
                STEPS,
                rng.randrange(2**32),
                no_socket=number % NO_SOCKET == NO_SOCKET - 1,
            )
            for number, name in enumerate(names)
        ]
        yield Drill(Scene(room, fakes), people, rng)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/drill-faults", description=__doc__)
    parser.add_argument("--times", type=int, default=10, help="how often each fault comes")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[one.name for one in INJURIES])
    parser.add_argument("--students", type=int, default=8)
    parser.add_argument("--endpoints", type=int, default=2, help="fake ones")
    parser.add_argument("--scale", type=float, default=0.3, help="of the fake's time a token (4.5 and 9 ms)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a folder for the site and its logs, kept")
    got = parser.parse_args()
    wanted = [one for one in INJURIES if not got.only or one.name in got.only]
    rounds: list[Round] = []
    with contextlib.ExitStack() as stack:
        folder = got.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="drill-faults-")))
        folder.mkdir(parents=True, exist_ok=True)
        if any(one.name == "disk-full" for one in wanted):
            small = folder / "small"
            small.mkdir()
            if stack.enter_context(small_disk(small)):
                folder = small
            else:
                wanted = [one for one in wanted if one.name != "disk-full"]
                print("disk-full is left out: no file system of its own may be mounted here")
        held = stack.enter_context(drill(folder, got.students, got.endpoints, got.scale, got.seed))
        print(Round.HEAD, flush=True)
        for injury in wanted:
            began_s = time.monotonic()
            rounds.append(held.hold(injury, got.times))
            print(rounds[-1].row(), f"{time.monotonic() - began_s:.0f} s", flush=True)
            for problem in rounds[-1].problems[:20]:
                print(f"  {problem}", flush=True)
        _tell(held.students)
    return 1 if any(one.problems for one in rounds) else 0


def _tell(students: Sequence[Student]) -> None:
    states = Counter(played.state for one in students for played in one.played)
    pages = [page for one in students for page in one.pages]
    inconclusive = sum(played.inconclusive for one in students for played in one.played)
    print(
        f"{sum(len(one.submitted) for one in students)} rounds submitted, "
        f"{sum(one.repeated for one in students)} posted twice, "
        f"{sum(one.unanswered for one in students)} requests unanswered or 5xx, "
        f"{sum(one.refused for one in students)} refused with a sentence\nattempts: "
        + ", ".join(f"{count} {state}" for state, count in states.most_common())
        + f", {inconclusive} of them with a check left open\n{len(pages)} pages, "
        f"{sum(page.was_live for page in pages)} opened before the end, "
        f"{sum(page.reconnects for page in pages)} socket tries failed, "
        f"{sum(page.polls for page in pages)} polls, {sum(page.resets for page in pages)} announced gaps"
    )


if __name__ == "__main__":
    sys.exit(main())
