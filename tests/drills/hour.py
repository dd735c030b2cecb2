"""`scripts/drill-class`: a class does several steps, one after another, all at once; every verdict is known before.

Who is right and who is wrong in which way is drawn from `--seed`. Counted: verdicts against the truth, attempts that
did not end, places that rose, and runs that began before somebody who had waited longer.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.drills.classroom import Classroom, classroom
from tests.drills.player import Played, Player, wrong_ways
from tests.fakellama.process import FakeServer

STEPS = ("first-token", "cache-break", "barge-in")
SAMPLE_S = 0.5


@dataclass
class Hour:
    """What one class did."""

    played: list[Played] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    rises: list[str] = field(default_factory=list)
    overtaken: list[str] = field(default_factory=list)
    took_s: float = 0.0
    overhead_ms: float = 0.0

    @property
    def problems(self) -> list[str]:
        mistakes = [mistake for played in self.played for mistake in played.mistakes]
        not_over = [
            f"{played.student} {played.step}: {played.state}"
            for played in self.played
            if played.state not in ("graded", "errored", "paused")
        ]
        unfair = [
            f"{played.student} {played.step}: errored ({played.reason}) and charged"
            for played in self.played
            if played.state == "errored" and played.charged
        ]
        return [*self.crashes, *mistakes, *not_over, *unfair, *self.rises, *self.overtaken]

    def report(self) -> str:
        states = Counter(played.state for played in self.played)
        verdicts = Counter(verdict for played in self.played for verdict in played.checks.values())
        longest = max((played.waited_s for played in self.played), default=0.0)
        lines = [
            f"{len(self.played)} attempts in {self.took_s:.0f} s, longest wait of one {longest:.0f} s: "
            + ", ".join(f"{count} {state}" for state, count in states.most_common()),
            "checks: " + ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()),
            f"attempts with an inconclusive check: {sum(one.inconclusive for one in self.played)}",
            f"runs: {sum(one.runs for one in self.played)}; "
            f"a lease costs {self.overhead_ms:.0f} ms (median) besides its plan",
            f"problems: {len(self.problems)}",
            *(f"  {problem}" for problem in self.problems[:40]),
        ]
        return "\n".join(lines)


def hold(
    room: Classroom,
    students: int,
    steps: Sequence[str],
    rng: random.Random,
    limit_s: float,
    *,
    ready: Callable[[], None] = lambda: None,
    until_s: float | None = None,
) -> Hour:
    """`ready` is called when every server has been tried and nobody has begun. After `until_s` nobody begins a step."""
    names = room.start(students)
    ready()
    hour = Hour()
    began = time.monotonic()
    over = threading.Event()
    places = threading.Thread(target=_watch_places, args=(hour, over), daemon=True)
    places.start()
    draws = {name: [(step, _way(rng, step)) for step in steps] for name in names}

    def one(name: str) -> None:
        player = Player(name, room.site.url, room.cookie(name))
        for step, wrong in draws[name]:
            if until_s is not None and time.monotonic() - began > until_s:
                return
            try:
                hour.played.append(player.play(step, wrong, limit_s))
            except Exception as error:
                hour.crashes.append(f"{name} {step}: {error!r}"[:1500])
                return

    with ThreadPoolExecutor(students) as pool:
        list(pool.map(one, names))
    over.set()
    places.join()
    hour.took_s = time.monotonic() - began
    hour.overhead_ms = _overhead_ms()
    if len(room.urls) <= 1:
        hour.overtaken = _overtaken()
    return hour


def _way(rng: random.Random, step: str) -> Any:
    """Half of them are right."""
    return rng.choice([None, rng.choice(wrong_ways(step))])


def _watch_places(hour: Hour, over: threading.Event) -> None:
    """Nobody's place may rise but behind one who returned to the queue."""
    from django.db import close_old_connections

    from labs.live.status import statuses
    from labs.models import Attempt, State

    before: dict[tuple[UUID, int], int] = {}
    returned_before = 0
    while not over.wait(SAMPLE_S):
        queued = list(Attempt.objects.filter(state=State.QUEUED).values_list("pk", flat=True))
        found = statuses(queued)
        returned = Attempt.objects.filter(state=State.QUEUED, returned=True).count()
        for pk, status in found.items():
            if status.place is None:
                continue
            key = (pk, status.round_number)
            if (
                status.place > before.get(key, status.place) + max(0, returned - returned_before)
                and not returned
            ):
                hour.rises.append(f"{pk}: place {before[key]} became {status.place}")
            before[key] = status.place
        returned_before = returned
        close_old_connections()


def _overhead_ms() -> float:
    """Of a run from claim to finish, what is not between its first request's start and its last one's end."""
    from labs.models import Run

    found = []
    for run in Run.objects.filter(outcome=Run.Outcome.RECORDED).prefetch_related("recordings"):
        asks = [stored.data for stored in run.recordings.all()]
        ends_us = [ask["sent_at_us"] + (ask["figures"]["end_us"] or 0) for ask in asks]
        if run.ended_at is not None and ends_us:
            plan_us = max(ends_us) - min(ask["sent_at_us"] for ask in asks)
            found.append((run.ended_at - run.started_at).total_seconds() * 1000 - plan_us / 1000)
    return statistics.median(found) if found else 0.0


def _overtaken() -> list[str]:
    """First runs of rounds in the order of their start: who locked earlier starts earlier."""
    from labs.models import Run

    firsts: dict[int, Run] = {}
    for run in Run.objects.select_related("round").order_by("started_at"):
        firsts.setdefault(run.round_id, run)
    found = []
    latest = None
    for run in firsts.values():
        # Half a second: the answers are locked before the transaction that queues them ends.
        if latest is not None and (latest.round.locked_at - run.round.locked_at).total_seconds() > 0.5:
            found.append(
                f"{run.attempt_id} waited since {run.round.locked_at}, {latest.attempt_id} came first"
            )
        else:
            latest = run
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/drill-class", description=__doc__)
    parser.add_argument("--students", type=int, default=40)
    parser.add_argument("--endpoints", type=int, default=4, help="fake ones")
    parser.add_argument("--real", action="store_true", help="one real embedded server instead")
    parser.add_argument("--scale", type=float, default=1.0, help="of the fake's time a token (4.5 and 9 ms)")
    parser.add_argument("--steps", nargs="+", default=list(STEPS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit-s", type=float, default=1800)
    got = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="drill-class-")))
        urls = []
        if not got.real:
            for number in range(got.endpoints):
                fake = FakeServer(folder / f"fake-{number}", "--scale", str(got.scale))
                urls.append(stack.enter_context(fake).base_url)
        room = stack.enter_context(classroom(folder / "site", urls))
        hour = hold(room, got.students, tuple(got.steps), random.Random(got.seed), got.limit_s)
    where = "one real server" if got.real else f"{got.endpoints} fake endpoints at {got.scale:g} of real time"
    print(f"{got.students} students, {', '.join(got.steps)}, {where}, seed {got.seed}")
    print(hour.report())
    return 1 if hour.problems else 0


if __name__ == "__main__":
    sys.exit(main())
