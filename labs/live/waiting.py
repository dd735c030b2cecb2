"""How long those in the queue will wait: the machine time ahead of them, as an honest range."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from labs.measure.plan import PROMPT_MS_PER_TOKEN
from labs.measure.stats import quantile

# The same prefill was measured at 2.8 s and 7.1 s on one machine (DESIGN 6): twice the declared time is honest.
SLOW = 2.0
# Waiting for idle slots, tokenising, probing before and after.
OVERHEAD_MS = 2_000.0
# From so many measured runs on they say more than what is declared; a little is added to what the slow ones took.
ENOUGH_RUNS, MARGIN = 8, 1.25


@dataclass(frozen=True, slots=True)
class Pace:
    """What a run takes for each millisecond that its plan declares: of a quick run and of a slow one."""

    fast: float = 1.0
    slow: float = SLOW


def guessed_pace(ms_per_token: Sequence[float]) -> Pace:
    """Before anything ran: plans declare a prefill of PROMPT_MS_PER_TOKEN, the endpoints' canaries know their own."""
    factors = [one / PROMPT_MS_PER_TOKEN for one in ms_per_token]
    return Pace(min(factors), max(factors) * SLOW) if factors else Pace()


def measured_pace(ran: Sequence[tuple[float, float]], guess: Pace = Pace()) -> Pace:
    """`ran` are (declared ms, what it took in ms) of the last runs; too few of them say nothing, and `guess` holds."""
    ratios = [took_ms / declared_ms for declared_ms, took_ms in ran if declared_ms > 0]
    fast, slow = quantile(ratios, 0.1), quantile(ratios, 0.9)
    if len(ratios) < ENOUGH_RUNS or fast is None or slow is None:
        return guess
    return Pace(fast, slow * MARGIN)


def waits_s(
    queue_ms: Sequence[float], running_ms: Sequence[float], endpoints: int, pace: Pace | None = None
) -> Iterator[tuple[int, int]]:
    """(low, high) in seconds for each place of the queue, first to last. `endpoints` is at least 1.

    Low: what runs ends now and everything is quick. High: what runs has just begun, and all of it is slow.
    Whoever is first takes the endpoint that is free first.
    """
    pace = pace or Pace()
    low = _free_at([0.0] * len(running_ms), endpoints)
    high = _free_at([ms * pace.slow + OVERHEAD_MS for ms in running_ms], endpoints)
    for ms in queue_ms:
        yield math.floor(low[0] / 1000), math.ceil((high[0] + OVERHEAD_MS) / 1000)
        heapq.heapreplace(low, low[0] + ms * pace.fast)
        heapq.heapreplace(high, high[0] + ms * pace.slow + OVERHEAD_MS)


def _free_at(running_ms: list[float], endpoints: int) -> list[float]:
    """When each endpoint falls free, as a heap. More runs than endpoints happen when one has just gone down."""
    heap = [0.0] * max(endpoints - len(running_ms), 0) + running_ms[:endpoints]
    heapq.heapify(heap)
    for ms in running_ms[endpoints:]:
        heapq.heapreplace(heap, heap[0] + ms)
    return heap
