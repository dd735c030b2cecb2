"""Reading Redis streams from the event loop: quick to give up, never retried behind the hub's back."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, cast
from uuid import uuid4

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from labs.live.events import START, EventId
from labs.live.feed import Entry
from labs.metrics.own import STREAM_LAG

BLOCK_MS = 1000
TIMEOUT_S = 2.0  # more than BLOCK_MS, or every quiet second would look like a dead server
COUNT = 500
WAKE_EXPIRE_S = 3600


def _as_it_comes(response: Any, **_: Any) -> Any:
    """redis-py would build a dict for every event."""
    return response


class Streams:
    """`read` always waits for a wake stream of this process as well, so that `wake` ends a wait at once."""

    def __init__(self, redis_url: str) -> None:
        self._redis: Any = Redis.from_url(
            redis_url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, retry=Retry(NoBackoff(), 0)
        )
        for command in ("XREAD", "XRANGE", "XREVRANGE"):
            self._redis.set_response_callback(command, _as_it_comes)
        self._wake_key = f"labhub:wake:{uuid4()}".encode()
        self._woken: bytes = b"0"

    async def read(self, after: Mapping[bytes, EventId]) -> list[tuple[bytes, list[Entry]]]:
        """New entries by key, at most COUNT a key; empty after a second without any. Raises RedisError."""
        ids = [event_id.redis for event_id in after.values()]
        reply: list[tuple[bytes, list[Entry]]] | None = await self._redis.execute_command(
            "XREAD", "COUNT", COUNT, "BLOCK", BLOCK_MS, "STREAMS", *after, self._wake_key, *ids, self._woken
        )
        news = []
        for key, entries in reply or []:
            if key == self._wake_key:
                self._woken = entries[-1][0]
                # Our own note, by our own clock: the way through Redis and the reader, and how busy both are.
                sent_ns = int(entries[-1][1][1])
                STREAM_LAG.observe((time.perf_counter_ns() - sent_ns) / 1e9)
            else:
                news.append((key, entries))
        return news

    async def since(self, key: bytes, after: EventId) -> list[Entry]:
        """The next COUNT entries of one stream. Raises RedisError."""
        reply = await self._redis.execute_command("XRANGE", key, f"({after.redis}", "+", "COUNT", COUNT)
        return cast("list[Entry]", reply)

    async def last(self, key: bytes) -> EventId:
        """The newest entry's id, START when there is none. Raises RedisError."""
        reply: list[Entry] = await self._redis.execute_command("XREVRANGE", key, "+", "-", "COUNT", 1)
        return EventId.parse(reply[0][0]) if reply else START

    async def wake(self) -> None:
        """Raises RedisError."""
        pipe: Any = self._redis.pipeline(transaction=False)
        pipe.xadd(self._wake_key, {b"sent_ns": time.perf_counter_ns()}, maxlen=1)
        pipe.expire(self._wake_key, WAKE_EXPIRE_S)
        await pipe.execute()

    async def close(self) -> None:
        await self._redis.aclose()
