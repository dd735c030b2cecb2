"""The last day as two rows of bars: the time to first token, and how many runs ended by a fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labs.views.ops.trend import Day, Hour

WIDTH, HEIGHT, GAP = 20, 60, 4


@dataclass(frozen=True, slots=True)
class Column:
    """One hour; heights in the drawing's units, 0 where there is nothing to draw."""

    hour: Hour
    x: int
    ttft: int
    faults: int

    @property
    def ttft_y(self) -> int:
        return HEIGHT - self.ttft

    @property
    def faults_y(self) -> int:
        return HEIGHT - self.faults


@dataclass(frozen=True, slots=True)
class DayPlot:
    columns: Sequence[Column]
    longest_ms: float
    width: int
    height: int = HEIGHT
    bar: int = WIDTH - GAP


def day_plot(day: Day) -> DayPlot | None:
    """None where nothing ran."""
    if not day.runs:
        return None
    longest_ms = max((hour.p50_ms or 0.0 for hour in day.hours), default=0.0)
    columns = [
        Column(
            hour,
            number * WIDTH,
            _height(hour.p50_ms or 0.0, longest_ms),
            _height(hour.faults, hour.runs),
        )
        for number, hour in enumerate(day.hours)
    ]
    return DayPlot(columns, longest_ms, len(columns) * WIDTH)


def _height(value: float, most: float) -> int:
    """At least two units, or the smallest could not be seen."""
    return max(2, round(value / most * HEIGHT)) if value and most else 0
