"""The stream over HTTP, for pages whose socket is down."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import redis

from labs.live.events import NEWS, EventId, decode, gap_before, key_of

COUNT = 1000


def read_since(
    client: redis.Redis, attempt_id: UUID, after: EventId
) -> tuple[list[dict[str, Any]], bool, EventId]:
    """Up to COUNT events after `after`, whether none is missing among them, and where to go on.

    A missing stretch is told by a `reset` event in its place. Raises redis.RedisError.
    """
    entries: Any = client.xrange(key_of(attempt_id), f"({after.redis}", count=COUNT)
    events: list[dict[str, Any]] = []
    complete = True
    for raw_id, fields in entries:
        event_id = EventId.parse(raw_id)
        if gap := gap_before(after, event_id):
            events.append(dict(gap.message()))
            complete = False
        after = event_id
        events.extend(decode(payload) for kind, payload in fields.items() if kind.decode() not in NEWS)
    return events, complete, after
