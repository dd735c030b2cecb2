"""Who was in which slot, and when: the asks of a run on the run's clock, and every look at `/slots`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from labs.measure.recording import Recording


@dataclass(frozen=True, slots=True)
class Stay:
    """`begun_us` is when the slot began to work on the ask, `left_us` when it was seen free (`seen_free`) or, where
    nobody saw that, the last we know of it; `closed_us` is our close. All on the run's clock."""

    key: str
    slot: int
    begun_us: int
    left_us: int
    closed_us: int | None
    seen_free: bool


@dataclass(frozen=True, slots=True)
class Look:
    slot: int
    at_us: int
    busy: bool


def stays(recordings: Iterable[Recording]) -> list[Stay]:
    """An ask that never reached its slot stays nowhere."""
    return [stay for ask in recordings if ask.kind == "ask" and (stay := _stay(ask)) is not None]


def _stay(ask: Recording) -> Stay | None:
    seen = ask.figures
    closed_us = ask.closed_us if seen.end in ("cut", "held") else None
    if seen.headers_us is None:
        return None
    left = [ask.idle_us] if ask.idle_us is not None else [closed_us, seen.end_us, *(_busy_us(ask))]
    left_us = max((at_us for at_us in left if at_us is not None), default=seen.headers_us)
    return Stay(
        ask.key,
        ask.slot,
        ask.sent_at_us + seen.headers_us,
        ask.sent_at_us + max(left_us, seen.headers_us),
        None if closed_us is None else ask.sent_at_us + closed_us,
        ask.idle_us is not None,
    )


def _busy_us(ask: Recording) -> list[int]:
    return [sample.at_us for sample in ask.samples if sample.busy]


def looks(recordings: Iterable[Recording]) -> list[Look]:
    """In the order of time; a look at all slots in between (a `get`) counts for each of them."""
    return sorted(_looks(recordings), key=lambda look: (look.at_us, look.slot))


def _looks(recordings: Iterable[Recording]) -> Iterator[Look]:
    for recording in recordings:
        for sample in recording.samples:
            yield Look(recording.slot, recording.sent_at_us + sample.at_us, sample.busy)
        if recording.kind == "get":
            at_us = recording.sent_at_us + (recording.figures.end_us or 0)
            for row in _rows(recording.body):
                yield Look(row["id"], at_us, bool(row["is_processing"]))


def _rows(body: str) -> list[dict[str, Any]]:
    """The rows of a `/slots` answer; [] of any other."""
    try:
        rows = json.loads(body)
    except ValueError:
        return []
    found = rows if isinstance(rows, list) else []
    return [
        row
        for row in found
        if isinstance(row, dict) and isinstance(row.get("id"), int) and "is_processing" in row
    ]
