"""The worker's end of the live stream: numbered events onto a queue, one thread a process onto Redis.

The stream is only 'now' (DESIGN 4): nothing here may slow a run down or end it. Redis may be slow, stopped,
flushed or gone; the queue is bounded, and what it drops shows as a gap in the numbers.
"""

from __future__ import annotations

import functools
import itertools
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from labs.live.events import EventId, encode, key_of
from labs.live.redis_writer import Entry, Mark, RedisWriter
from labs.metrics.own import DROPPED, PUBLISH

log = logging.getLogger(__name__)

QUEUE_LENGTH = 10_000
BATCH = 500
RETRY_S = (0.05, 0.1, 0.2, 0.5, 1.0)


class Topic:
    """One run's events. `put` may be called from any thread; `finish` once, after the last event."""

    def __init__(self, publisher: Publisher, attempt_id: UUID, run_number: int) -> None:
        self._publisher = publisher
        self._key = key_of(attempt_id)
        self._run = run_number
        self._seq = itertools.count(1)
        self._lock = threading.Lock()

    def put(self, kind: str, data: Mapping[str, Any]) -> None:
        """Numbers the event and queues it; never blocks on Redis. Raises ValueError as `events.encode` does.

        Every event carries `put_at_ms`, the worker's wall clock: whoever receives it can tell how late it is.
        """
        stamped = {**data, "put_at_ms": round(time.time() * 1000, 1)}
        with self._lock:  # numbering and queueing are one step, or two threads could swap places
            event_id = EventId(self._run, next(self._seq))
            self._publisher.queue(Entry(self._key, event_id, kind, encode(event_id, kind, stamped)))

    def flush(self, timeout_s: float = 2.0) -> bool:
        """Waits until what was put is in Redis. False: not in time; it goes on trying."""
        return self._mark(ends_run=False).wait(timeout_s)

    def finish(self, timeout_s: float = 2.0) -> bool:
        """After the commit that ended the run: the database has news, and the stream may soon expire."""
        self.put("finished", {})
        return self._mark(ends_run=True).wait(timeout_s)

    def _mark(self, ends_run: bool) -> threading.Event:
        mark = Mark(ends_run)
        self._publisher.queue(Entry(self._key, EventId(self._run, 0), "", "", mark))
        return mark.passed


class Publisher:
    """One for a process (`publisher()`); its thread starts with the first topic, also after a fork."""

    def __init__(self, redis_url: str, queue_length: int = QUEUE_LENGTH) -> None:
        self._redis_url = redis_url
        self._queue_length = queue_length
        self._start_lock = threading.Lock()
        self._pid = 0
        self.dropped = 0

    def topic(self, attempt_id: UUID, run_number: int) -> Topic:
        with self._start_lock:
            if self._pid != os.getpid():
                self._start()
        return Topic(self, attempt_id, run_number)

    def _start(self) -> None:
        self._entries: deque[Entry] = deque()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._pid = os.getpid()
        threading.Thread(target=self._publish, name="live-publisher", daemon=True).start()

    def queue(self, entry: Entry) -> None:
        with self._lock:
            if len(self._entries) >= self._queue_length:
                self._drop(self._entries.popleft())
            self._entries.append(entry)
        if not self._wake.is_set():
            self._wake.set()

    def _drop(self, entry: Entry) -> None:
        if self.dropped % 1000 == 0:
            log.warning("live stream: Redis takes nothing; %d events dropped so far", self.dropped + 1)
        self.dropped += 1
        DROPPED.inc()

    def _publish(self) -> None:
        writer = RedisWriter(self._redis_url)
        while True:
            self._wake.wait()
            self._wake.clear()
            while batch := self._take():
                with PUBLISH.time():
                    for delay_s in itertools.chain(RETRY_S, itertools.repeat(RETRY_S[-1])):
                        if _written(writer, batch):
                            break
                        time.sleep(delay_s)

    def _take(self) -> list[Entry]:
        with self._lock:
            return [self._entries.popleft() for _ in range(min(len(self._entries), BATCH))]


def _written(writer: RedisWriter, batch: list[Entry]) -> bool:
    """A fault of ours costs this batch its live view, never the thread that all runs of the process share."""
    try:
        return writer.write(batch)
    except Exception:
        log.exception("live stream: %d events could not be written", len(batch))
        for entry in batch:
            if entry.mark:
                entry.mark.passed.set()
        return True


@functools.cache
def publisher() -> Publisher:
    """The process' own, on the settings' REDIS_URL."""
    from django.conf import settings

    return Publisher(settings.REDIS_URL)
