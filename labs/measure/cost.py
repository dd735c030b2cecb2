"""TTFT against prompt tokens: the runs of each size with their fastest and their median, for a plot and its table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from labs.measure.recording import Recording
from labs.measure.stats import Line, line_through_minima, median


@dataclass(frozen=True, slots=True)
class Size:
    """The asks that computed `n` prompt tokens; their TTFTs in ms, in the order they ran."""

    n: int
    times_ms: Sequence[float]

    @property
    def fastest_ms(self) -> float:
        return min(self.times_ms)

    @property
    def median_ms(self) -> float:
        return median(self.times_ms) or 0.0


def sizes(asks: Iterable[Recording]) -> list[Size]:
    """By `prompt_n`, smallest first; asks without a first token or without the server's counter are left out."""
    found: dict[int, list[float]] = {}
    for seen in (ask.figures for ask in asks):
        if seen.prompt_n is not None and seen.ttft_us is not None:
            found.setdefault(seen.prompt_n, []).append(seen.ttft_us / 1000)
    return [Size(n, times) for n, times in sorted(found.items())]


def line_of(found: Sequence[Size]) -> Line | None:
    """Through the fastest runs of the smallest and the largest size; None without two."""
    if len(found) < 2:
        return None
    small, large = found[0], found[-1]
    return line_through_minima([(small.n, small.fastest_ms)], [(large.n, large.fastest_ms)])
