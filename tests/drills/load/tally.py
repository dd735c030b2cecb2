"""What the students saw, in figures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


def quantile(values: Sequence[float], share: float) -> float:
    """Nearest rank; 0 for nothing."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


@dataclass
class Tally:
    """Pages by kind in ms, from sending to the last byte. A token's lag is from the worker's `put` to here, both by the
    wall clock of one machine; what a socket was told about the time before it opened does not count."""

    pages_ms: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    lags_ms: list[float] = field(default_factory=list)
    tokens: int = 0
    silent_gaps: int = 0
    doubled: int = 0
    tail_lost: int = 0
    ended_away: int = 0  # whoever came back heard the end first: the page takes all of it from the database
    announced_gaps: int = 0
    sockets: int = 0
    reconnects: int = 0
    silences: int = 0
    refused: int = 0
    close_codes: Counter[int] = field(default_factory=Counter)
    unanswered: Counter[str] = field(default_factory=Counter)
    paused: int = 0
    ended: int = 0
    loop_lag_ms: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _before: Mapping[str, int] | None = None

    def all_have_come(self) -> None:
        """What follows is a class at work."""
        self._before = {kind: len(found) for kind, found in self.pages_ms.items()}

    @property
    def later_pages(self) -> list[float] | None:
        """Of `pages`, since everybody had come; None where that was never told."""
        if self._before is None:
            return None
        kinds = ((found[self._before.get(kind, 0) :], kind) for kind, found in self.pages_ms.items())
        return [ms for found, kind in kinds if kind != "log in" for ms in found]

    @property
    def pages(self) -> list[float]:
        """Every page but the log-in, whose time is what a password's hash is meant to cost."""
        return [ms for kind, found in self.pages_ms.items() if kind != "log in" for ms in found]
