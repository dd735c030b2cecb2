"""The events of a run as they travel: worker -> Redis stream -> hub or HTTP -> page.

An entry of the stream `labhub:attempt:<uuid>` has the Redis id `<run>-<seq>` and one field: its name is the kind,
its value the message as the page gets it, `{"id": "<run>.<seq>", "kind": ..., ...}`. It is encoded once, by the
worker; whoever passes it on need not open it. `seq` counts from 1 within a run, so a missing event shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Self
from uuid import UUID

KINDS = frozenset(
    {
        "queued",
        "started",
        "ask",
        "progress",
        "tokens",
        "first_token",
        "first_sentence",
        "slot",
        "note",
        "recorded",
        "finished",
        "reset",
    }
)
# A run's last event. It says only 'the database has news': readers look there and do not pass it on.
NEWS = frozenset({"queued", "finished"})

STREAM_LENGTH = 20_000


class EventId(NamedTuple):
    """Ordered as the events are. `EventId(0, 0)` stands before all of them."""

    run: int
    seq: int

    @classmethod
    def parse(cls, text: str | bytes | None) -> Self:
        """From `run.seq` or Redis' `run-seq`; anything else is 'from the start'."""
        if isinstance(text, bytes):
            text = text.decode("ascii", "replace")
        run, _, seq = (text or "").replace("-", ".").partition(".")
        if not (run.isascii() and run.isdigit() and seq.isascii() and seq.isdigit()) or len(run + seq) > 18:
            return cls(0, 0)
        return cls(int(run), int(seq))

    def __str__(self) -> str:
        return f"{self.run}.{self.seq}"

    @property
    def redis(self) -> str:
        return f"{self.run}-{self.seq}"


START = EventId(0, 0)


class Gap(NamedTuple):
    """Events that can no longer be had, both ends included."""

    first: EventId
    last: EventId

    def message(self) -> dict[str, str]:
        return {"kind": "reset", "from": str(self.first), "to": str(self.last)}


def key_of(attempt_id: UUID) -> str:
    return f"labhub:attempt:{attempt_id}"


def encode(event_id: EventId, kind: str, data: Mapping[str, Any]) -> str:
    """Raises ValueError for an unknown kind, for data that names `id` or `kind`, and for what JSON cannot hold."""
    if kind not in KINDS or "id" in data or "kind" in data:
        raise ValueError(f"not an event: {kind!r} with {sorted(data)}")
    # ASCII, so that a lone surrogate in a model's output cannot stop the stream.
    return json.dumps({"id": str(event_id), "kind": kind, **data}, separators=(",", ":"), allow_nan=False)


def decode(payload: str | bytes) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(payload)
    return message


def gap_before(previous: EventId, event_id: EventId) -> Gap | None:
    """What is missing between two events that follow one another in the stream.

    A new run starts at seq 1; how the run before it ended is the database's affair.
    """
    expected = previous.seq + 1 if event_id.run == previous.run else 1
    if event_id.seq <= expected:
        return None
    return Gap(EventId(event_id.run, expected), EventId(event_id.run, event_id.seq - 1))
