"""Batches of events into Redis streams, by one connection that gives up quickly and knows a stale run."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from labs.live.events import STREAM_LENGTH, EventId

log = logging.getLogger(__name__)

TIMEOUT_S = 1.0
EXPIRE_RUNNING_S = 24 * 3600  # for streams whose worker never came to `finish`
EXPIRE_FINISHED_S = 120  # for who was away; later pages have all from the database
REFRESH_S = 60.0  # a flush forgets the expiry as well


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in the queue that somebody waits for."""

    ends_run: bool
    passed: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, slots=True)
class Entry:
    """One event, or a mark behind the events of its stream."""

    key: str
    event_id: EventId
    kind: str
    payload: str
    mark: Mark | None = None


def connect(redis_url: str) -> redis.Redis:
    """A client that fails within about a second and never retries by itself: its callers do, and say when."""
    return redis.Redis.from_url(
        redis_url,
        socket_timeout=TIMEOUT_S,
        socket_connect_timeout=TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
        retry_on_error=[],
    )


class RedisWriter:
    def __init__(self, redis_url: str) -> None:
        self._redis = connect(redis_url)
        self._refresh_at: dict[str, float] = {}
        self._stale: dict[str, int] = {}  # key -> run number that is no longer the newest
        self._failing = False

    def write(self, batch: list[Entry]) -> bool:
        """False: Redis did not answer, write the same batch again. What Redis refuses is logged and forgotten."""
        try:
            self._write([entry for entry in batch if not self._is_stale(entry)])
        except redis.RedisError as error:
            if not self._failing:
                log.warning("live stream: %s; trying again until Redis is back", error)
            self._failing = True
            return False
        if self._failing:
            log.warning("live stream: Redis is back")
        self._failing = False
        for entry in batch:
            if entry.mark:
                if entry.mark.ends_run:
                    self._refresh_at.pop(entry.key, None)
                    self._stale.pop(entry.key, None)
                entry.mark.passed.set()
        return True

    def _is_stale(self, entry: Entry) -> bool:
        return entry.event_id.run <= self._stale.get(entry.key, -1)

    def _write(self, batch: list[Entry]) -> None:
        events = [entry for entry in batch if entry.mark is None]
        ended = {entry.key for entry in batch if entry.mark and entry.mark.ends_run}
        pipe = self._redis.pipeline(transaction=False)
        for entry in events:
            fields: dict[Any, Any] = {entry.kind: entry.payload}
            pipe.xadd(entry.key, fields, entry.event_id.redis, STREAM_LENGTH, approximate=True)
        for key in ended:
            pipe.expire(key, EXPIRE_FINISHED_S)
        now_s = time.monotonic()
        for key in {entry.key for entry in events} - ended:
            if self._refresh_at.get(key, 0.0) <= now_s:
                pipe.expire(key, EXPIRE_RUNNING_S)
                self._refresh_at[key] = now_s + REFRESH_S
        refused: dict[str, tuple[Entry, redis.ResponseError]] = {}
        # The results of the `expire`s belong to no event.
        for entry, result in zip(events, pipe.execute(raise_on_error=False), strict=False):
            if isinstance(result, redis.ResponseError):
                refused.setdefault(entry.key, (entry, result))
        for entry, error in refused.values():
            self._refused(entry, error)

    def _refused(self, entry: Entry, error: redis.ResponseError) -> None:
        if "equal or smaller" not in str(error):
            log.error("live stream: Redis refused %s %s: %s", entry.key, entry.event_id, error)
            return
        # Redis takes growing ids only. Either a later run writes here now, or this repeats a batch of ours that
        # had got through before the connection broke.
        last: Any = self._redis.xrevrange(entry.key, count=1)
        newest_run = EventId.parse(last[0][0]).run if last else 0
        if newest_run > entry.event_id.run:
            self._stale[entry.key] = entry.event_id.run
            log.warning(
                "live stream: run %d of %s is stale, run %d writes now",
                entry.event_id.run,
                entry.key,
                newest_run,
            )
