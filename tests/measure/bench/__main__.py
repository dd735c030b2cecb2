"""`scripts/bench-measure`: how far the driver's TTFT is from an independent witness's, and what measuring costs.

Prints a table with PASS or MISS against the limits below and ends with 1 on a miss.
"""

from __future__ import annotations

import argparse
import functools
import math
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from labs.measure.control import Control
from labs.measure.plan import Ask
from labs.measure.prepare import render, with_line
from labs.measure.recording import Recording
from labs.measure.request import body_of
from tests.measure.bench import raw
from tests.measure.bench.beats import beating
from tests.measure.bench.calm import wait_calm
from tests.measure.bench.rig import SLOTS, Rig, overlapping, rig, tagged

MEDIAN_MS = 0.5
P95_MS = 2.0
RATIO = 1.1
IN_ONE_PLAN = 5


@dataclass(frozen=True)
class Pair:
    """One request, timed twice."""

    driver_us: float
    relay_us: float

    @property
    def ms(self) -> float:
        return (self.driver_us - self.relay_us) / 1000


def main() -> int:
    options = argparse.ArgumentParser(prog="scripts/bench-measure", description=__doc__)
    options.add_argument("--asks", type=int, default=60, help="requests a scenario (60)")
    options.add_argument("--calm-s", type=int, default=0, help="wait this long for a quiet machine (0)")
    options.add_argument("--pairs", type=int, default=40, help="driver and raw requests of the ratio (40)")
    got = options.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before")
    with rig() as bench:
        warm_up(bench)
        scenarios: dict[str, Callable[[Rig, int], list[Pair]]] = {
            "four streams, one plan": four_in_one_plan,
            "heartbeats on": beaten,
            "Valkey stopped half-way": half_without_valkey,
        }
        wait_calm(got.calm_s)
        good = []
        for name, beside in (("one stream", beside_raw), ("four prefills at once", four_beside_raw)):
            driven, floor = beside(bench, got.asks)
            report("(raw, in turn with it)", floor)
            good.append(report(name, driven))
        for name, scenario in scenarios.items():
            wait_calm(got.calm_s)
            good.append(report(name, scenario(bench, got.asks)))
        wait_calm(got.calm_s)
        good.append(ratio(bench, got.pairs))
    print(f"load {os.getloadavg()[0]:.1f} after")
    return 0 if all(good) else 1


def warm_up(bench: Rig) -> None:
    """The first request of a server and of a client is not what is measured (measuring.md 1.2, 7)."""
    for slot in range(SLOTS):
        bench.drive(bench.relayed, 1, slot=slot)


def beside_raw(bench: Rig, asks: int) -> tuple[list[Pair], list[Pair]]:
    """Driver and raw sockets in turn through the same relay: what no reader on this machine can be rid of."""
    driven: list[Pair] = []
    plain: list[Pair] = []
    for _ in range(0, asks, IN_ONE_PLAN):
        driven += one(bench, IN_ONE_PLAN)
        for _ in range(IN_ONE_PLAN):
            ask_raw(bench, tagged(0), plain)
    return driven, plain


def one(bench: Rig, asks: int, control: Control | None = None) -> list[Pair]:
    pairs: list[Pair] = []
    for _ in range(0, asks, IN_ONE_PLAN):
        pairs += paired(bench, bench.drive(bench.relayed, IN_ONE_PLAN, control=control))
    return pairs


def four_beside_raw(bench: Rig, asks: int) -> tuple[list[Pair], list[Pair]]:
    """Four prefills in one batch, by a driver each (more than the product does), in turn with four raw sockets."""
    driven: list[Pair] = []
    plain: list[Pair] = []
    for _ in range(0, asks, SLOTS):
        found: dict[str, Recording] = {}
        run_all([functools.partial(drive_into, bench, slot, found) for slot in range(SLOTS)])
        driven += paired(bench, found)
        run_all([functools.partial(ask_raw, bench, tagged(slot), plain) for slot in range(SLOTS)])
    return driven, plain


def drive_into(bench: Rig, slot: int, found: dict[str, Recording]) -> None:
    found.update(bench.drive(bench.relayed, 1, slot=slot))


def four_in_one_plan(bench: Rig, asks: int) -> list[Pair]:
    """As the product has them: each begins while the earlier ones are read."""
    pairs: list[Pair] = []
    for _ in range(0, asks, SLOTS):
        pairs += paired(bench, bench.drive_plan(bench.relayed, overlapping(SLOTS)))
    return pairs


def ask_raw(bench: Rig, ask: Ask, into: list[Pair]) -> None:
    prompt = render(bench.direct, with_line(ask.messages, ""))
    ttft_us, _ = raw.ask(bench.relay.port, body_of(ask, prompt))
    into.append(Pair(ttft_us, bench.relay.lines([ask.key])[ask.key]["ttft_us"]))


def beaten(bench: Rig, asks: int) -> list[Pair]:
    with beating(bench.folder, bench.valkey.url) as control:
        return one(bench, asks, control)


def half_without_valkey(bench: Rig, asks: int) -> list[Pair]:
    """Valkey dies in the middle of a plan; the publisher goes on trying."""
    before = bench.relay.count()
    found: dict[str, Recording] = {}

    def stop() -> None:
        until_s = time.monotonic() + 300
        while bench.relay.count() < before + asks // 2 and time.monotonic() < until_s:
            time.sleep(0.05)
        bench.valkey.stop()

    run_all([stop, lambda: found.update(bench.drive(bench.relayed, asks))])
    bench.valkey.start()
    return paired(bench, found)


def ratio(bench: Rig, count: int) -> bool:
    """The server's own `prompt_ms` under the driver and under raw sockets, request by request in turn."""
    driven: list[float] = []
    plain: list[float] = []
    for _ in range(count):
        for recording in bench.drive(bench.direct, 1).values():
            driven.append(recording.figures.prompt_ms or 0.0)
        ask = tagged(0)
        prompt = render(bench.direct, with_line(ask.messages, ""))
        plain.append(raw.ask(bench.port, body_of(ask, prompt))[1])
    found = statistics.median(driven) / statistics.median(plain)
    good = found <= RATIO
    print(
        f"prompt_ms, {count} pairs in turn: driver {statistics.median(driven):.1f} ms, raw sockets "
        f"{statistics.median(plain):.1f} ms, ratio {found:.3f} (limit {RATIO})  {'PASS' if good else 'MISS'}"
    )
    return good


def paired(bench: Rig, recordings: dict[str, Recording]) -> list[Pair]:
    seen = bench.relay.lines(list(recordings))
    pairs = [
        Pair(recording.figures.ttft_us, seen[tag]["ttft_us"])
        for tag, recording in recordings.items()
        if recording.figures.ttft_us is not None and tag in seen
    ]
    if len(pairs) < len(recordings):
        print(f"  {len(recordings) - len(pairs)} requests without a pair")
    return pairs


def run_all(works: Sequence[Callable[[], None]]) -> None:
    """Runs them at once; a crash in one is a crash of the bench."""
    crashes: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as exc:
            crashes.append(exc)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if crashes:
        raise crashes[0]


def report(name: str, pairs: Sequence[Pair]) -> bool:
    bias = sorted(pair.ms for pair in pairs)
    median, p95 = statistics.median(bias), bias[math.ceil(0.95 * len(bias)) - 1]
    good = median <= MEDIAN_MS and p95 <= P95_MS
    ttft_ms = statistics.median(pair.driver_us for pair in pairs) / 1000
    print(
        f"{name:24} {len(bias):4} asks  TTFT {ttft_ms:7.1f} ms  driver - relay: min {bias[0]:.2f}  "
        f"median {median:.2f}  p95 {p95:.2f}  max {bias[-1]:.2f} ms  {'PASS' if good else 'MISS'}",
        flush=True,
    )
    return good


if __name__ == "__main__":
    sys.exit(main())
