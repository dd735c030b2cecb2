"""The class at work: begun, watched, disturbed if so wanted, and brought to rest."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx

from tests.drills.load import people
from tests.drills.load.report import Result
from tests.drills.load.restart import Restart, order, restart
from tests.drills.load.student import Student
from tests.drills.load.tally import Tally
from tests.drills.load.watch import Watch
from tests.system.cluster import Cluster

LOOK_S, TICK_S = 10.0, 0.05
DRAIN_LIMIT_S = 120.0
# Whoever still waits at the end presses Stop within this share of the time in which the class came: two hundred clicks
# in one instant are no class that goes home.
LEAVES_WITHIN = 0.5
ADDITIONS = 10_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    """Within `ramp_s` everybody has come. `restarts` names processes; none of them: all; None leaves all in peace."""

    title: str
    seconds: float
    think_s: tuple[float, float]
    steps: Sequence[str]
    seed: int
    ramp_s: float
    restarts: Sequence[str] | None = None


async def hold(
    cluster: Cluster, plan: Plan, persons: Sequence[people.Person], pool: ProcessPoolExecutor
) -> Result:
    loop = asyncio.get_running_loop()

    async def ask(function: Callable[..., Any], *arguments: Any) -> Any:
        return await loop.run_in_executor(pool, function, *arguments)

    tally, rng = Tally(), random.Random(plan.seed)
    answers_cpu_s = await ask(people.cpu_s)
    additions_s = [_additions_s()]
    before = await asyncio.to_thread(people.rounds_now)
    # Every browser has connections of its own.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=len(persons))
    url = cluster.url
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as http:
        students = [
            Student(
                one, url, http, ask, tally, steps=plan.steps, think_s=plan.think_s, seed=rng.randrange(2**32)
            )
            for one in persons
        ]
        watch = Watch(lambda: {name: found["pid"] for name, found in cluster.state["processes"].items()})
        with _quiet_collector():
            runs, machine_s, cpu_s = (
                await asyncio.to_thread(people.runs_recorded),
                _machine_s(),
                time.process_time(),
            )
            began = time.monotonic()
            beside = [loop.create_task(_look(watch)), loop.create_task(_tick(tally))]
            lives = [
                loop.create_task(student.live(rng.uniform(0, plan.ramp_s)))
                for student, one in zip(students, persons, strict=True)
            ]
            loop.call_later(plan.ramp_s, tally.all_have_come)
            restarts, failures = await _go_on(cluster, plan, began)
            seconds = time.monotonic() - began
            runs = await asyncio.to_thread(people.runs_recorded) - runs
            maker_s = time.process_time() - cpu_s + await ask(people.cpu_s) - answers_cpu_s
            machine_cores = (_machine_s() - machine_s) / seconds
            for student in students:
                student.rest()
            await asyncio.gather(*(student.stop_waiting(plan.ramp_s * LEAVES_WITHIN) for student in students))
            _done, left = await asyncio.wait(lives, timeout=DRAIN_LIMIT_S)
            for task in [*left, *beside]:
                task.cancel()
            failures += [f"{len(left)} students did not come to rest"] if left else []
            drained_s = time.monotonic() - began - seconds
    submitted = {key: attempt for student in students for key, attempt in student.submitted.items()}
    stopped = {attempt for student in students for attempt in student.stopped}
    books = await asyncio.to_thread(people.read_books, submitted, before, stopped)
    additions_s.append(_additions_s())
    return Result(
        title=plan.title,
        seconds=seconds,
        tally=tally,
        books=books,
        courses=watch.courses,
        runs=runs,
        maker_cpu_s=maker_s,
        machine_cores=machine_cores,
        restarts=restarts,
        drained_s=drained_s,
        failures=failures,
        additions_s=additions_s,
    )


async def _go_on(cluster: Cluster, plan: Plan, began: float) -> tuple[list[Restart], list[str]]:
    """For the plan's time, and until every restart is done."""
    restarts: list[Restart] = []
    failures: list[str] = []
    if plan.restarts is not None:
        await asyncio.sleep(plan.seconds / 3)
        for name in order(
            plan.restarts or [name for name in cluster.state["processes"] if name != "postgres"]
        ):
            try:
                restarts.append(await restart(cluster, name))
            except AssertionError as error:
                failures.append(str(error))
    await asyncio.sleep(max(began + plan.seconds - time.monotonic(), plan.seconds / 6 if restarts else 0))
    return restarts, failures


def _additions_s() -> float:
    """Processor time of one loop. A core is not equally fast all day where others share the machine."""
    began, total = time.process_time(), 0
    for number in range(ADDITIONS):
        total += number
    return time.process_time() - began


async def _look(watch: Watch) -> None:
    while True:
        await asyncio.to_thread(watch.look)
        await asyncio.sleep(LOOK_S if watch.seconds > LOOK_S * 3 else LOOK_S / 5)


async def _tick(tally: Tally) -> None:
    """How late this loop is: part of every figure."""
    while True:
        due = time.perf_counter() + TICK_S
        await asyncio.sleep(TICK_S)
        tally.loop_lag_ms.append((time.perf_counter() - due) * 1000)


@contextlib.contextmanager
def _quiet_collector() -> Iterator[None]:
    """What is loaded by now is never looked at again by the collector: its pauses would count as lag."""
    import gc

    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _machine_s() -> float:
    """Processor time of everything on this machine: tells whether others took part in the figures."""
    from tests.live.bench.__main__ import _machine_s

    return _machine_s()
