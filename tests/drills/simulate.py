"""`scripts/simulate-class`: forty students do the whole lab twice on one server. How long, in machine time?

A queue of one server, first come first served, in whole milliseconds. What a run costs is its plan at the lab's
typical speeds (4.5 ms a prompt token, 9 ms an output token; the plans of the model answers), plus what a lease costs
besides: `--overhead-ms`, as `scripts/drill-class` measures it. Between rounds a student thinks, for a time drawn anew.
"""

from __future__ import annotations

import argparse
import heapq
import os
import random
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass

LIMIT_MIN = 60.0


@dataclass(frozen=True, slots=True)
class Lab:
    """Waits are of one run, from Run to its start."""

    busy_min: float
    took_min: float
    waits_s: Sequence[float]
    runs: int


def lab_of(
    runs_ms: Sequence[float],
    students: int,
    tries: int,
    overhead_ms: float,
    think_s: tuple[float, float],
    rng: random.Random,
) -> Lab:
    """`runs_ms`: what each run of one try costs the server, in the order of the lab."""
    plan = [ms + overhead_ms for ms in runs_ms] * tries
    coming = [(rng.uniform(0, 60_000), student, 0) for student in range(students)]
    heapq.heapify(coming)
    free_ms = busy_ms = last_ms = 0.0
    waits_s = []
    while coming:
        asked_ms, student, number = heapq.heappop(coming)
        begun_ms = max(asked_ms, free_ms)
        free_ms = last_ms = begun_ms + plan[number]
        busy_ms += plan[number]
        waits_s.append((begun_ms - asked_ms) / 1000)
        if number + 1 < len(plan):
            heapq.heappush(coming, (free_ms + rng.uniform(*think_s) * 1000, student, number + 1))
    return Lab(busy_ms / 60_000, last_ms / 60_000, waits_s, len(waits_s))


def model_runs_ms() -> list[float]:
    """The runs of all nine steps with the model answers, by what their plans declare."""
    from tests.steps.test_all_steps import STEPS, rounds_of

    plans = [
        round_.plan(row.challenge, row.answers, before)
        for step in STEPS
        for round_, row, before in rounds_of(step)
    ]
    return [plan.server_ms() for plan in plans if plan is not None]


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/simulate-class", description=__doc__)
    parser.add_argument("--students", type=int, default=40)
    parser.add_argument("--tries", type=int, default=2)
    parser.add_argument("--overhead-ms", type=float, default=400)
    parser.add_argument("--think-s", type=float, nargs=2, default=(20, 90), metavar=("LOW", "HIGH"))
    parser.add_argument("--seed", type=int, default=1)
    got = parser.parse_args()
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    runs_ms = model_runs_ms()
    low_s, high_s = got.think_s
    lab = lab_of(runs_ms, got.students, got.tries, got.overhead_ms, (low_s, high_s), random.Random(got.seed))
    good = lab.busy_min <= LIMIT_MIN
    print(
        f"one try: {len(runs_ms)} runs, {sum(runs_ms) / 1000:.1f} s of the server, "
        f"and {got.overhead_ms:g} ms a lease besides"
    )
    print(
        f"{got.students} students, {got.tries} tries: {lab.runs} runs, {lab.busy_min:.1f} machine-minutes "
        f"(limit {LIMIT_MIN:g}: {'PASS' if good else 'MISS'}), over after {lab.took_min:.0f} minutes; a run waits "
        f"{statistics.median(lab.waits_s):.0f} s (median), {max(lab.waits_s):.0f} s at most"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
