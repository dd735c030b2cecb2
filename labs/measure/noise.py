"""Were repeats too noisy to compare by their times? Then a plan's spare ones run too (measuring.md 3.3).

It decides how many repeats there are and nothing else: no verdict rests on it, and counts are graded anyway.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from labs.measure.pace import FAIR_PROMPT_N
from labs.measure.recording import Recording

SLOW_FACTOR = 1.5
FEW_REPEATS = 3
MANY_REPEATS = 5


@dataclass(frozen=True, slots=True)
class Noise:
    """`slow`: how many of the `runs` repeats took more than `SLOW_FACTOR` times the fastest a token."""

    slow: int
    runs: int

    @property
    def is_noisy(self) -> bool:
        return self.slow * 2 > self.runs


def judge_noise(ms_per_token: Sequence[float], best_ms_per_token: float | None = None) -> Noise:
    """Of repeats of one size. The fastest is the fastest of these, or the endpoint's own where that is lower."""
    bests = [*ms_per_token, *([] if best_ms_per_token is None else [best_ms_per_token])]
    limit = SLOW_FACTOR * min(bests, default=0.0)
    return Noise(sum(each > limit for each in ms_per_token), len(ms_per_token))


def is_noisy(asks: Iterable[Recording], best_ms_per_token: float | None) -> bool:
    """True where one size of prompt was. The endpoint's own speed is that of prompts of a fair length."""
    sizes: dict[int, list[float]] = defaultdict(list)
    for seen in (ask.figures for ask in asks):
        if seen.prompt_n and seen.prompt_ms is not None:
            sizes[seen.prompt_n].append(seen.prompt_ms / seen.prompt_n)
    return any(
        judge_noise(times, best_ms_per_token if n >= FAIR_PROMPT_N else None).is_noisy
        for n, times in sizes.items()
    )
