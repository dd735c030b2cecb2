"""One for a process: a single reader of Redis feeds every socket, one query every two seconds tells them the truth.

The reader waits on the streams of all attempts that are followed. A socket that comes late, or that cannot keep
up, is brought on by a task of its own, at its own pace, and then joins the others: nobody's memory grows.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from django.conf import settings
from redis import RedisError

from labs.live.desk import StatusDesk
from labs.live.events import NEWS, EventId
from labs.live.feed import Feed, opened
from labs.live.follower import Follower
from labs.live.outbox import drained
from labs.live.streams import Streams
from labs.live.watch import Step, Watch

log = logging.getLogger(__name__)

# The reader's pause after news. It lets a burst of many streams arrive as one reply.
GATHER_S = 0.0005
RETRY_S = 0.5
TRY_AGAIN_LATER = 4013  # autobahn sends 1000 and 3000 to 4999 only


class Hub:
    def __init__(self, redis_url: str) -> None:
        self._redis_url = redis_url
        self.feeds: dict[UUID, Feed] = {}
        self.redis_up = True
        self.desk = StatusDesk()
        self._tasks: set[asyncio.Task[None]] = set()

    def follow(self, follower: Follower) -> None:
        """From `follower.position` on. Returns at once; everything else happens in the hub's own tasks."""
        if not self.feeds:
            self._start()
        feed = self.feeds.setdefault(follower.attempt_id, Feed(follower.attempt_id))
        feed.followers.add(follower)
        self._spawn(self._bring_on(feed, follower))
        if follower.shown is not None and follower.shown.is_terminal:
            self._watch.look_soon(follower.attempt_id)

    def leave(self, follower: Follower) -> None:
        """Also of one who never followed, or has left already."""
        feed = self.feeds.get(follower.attempt_id)
        if feed is None:
            return
        feed.followers.discard(follower)
        if not feed.followers:
            del self.feeds[follower.attempt_id]
        if not self.feeds:
            self._stop()

    def _start(self) -> None:
        self._streams = Streams(self._redis_url)
        self._watch = Watch(self)
        for step in (self._read, *self._watch.steps()):
            self._spawn(self._repeat(step))

    def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._watch.close()
        asyncio.get_running_loop().create_task(self._streams.close())

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _repeat(self, step: Step) -> None:
        """A fault in one round must not leave the sockets open and deaf."""
        while True:
            try:
                await step()
            except Exception:
                log.exception("live hub: a round failed, the next one follows")
                await asyncio.sleep(RETRY_S)

    async def _read(self) -> None:
        feeds = {feed.key: feed for feed in self.feeds.values()}
        after = {feed.key: feed.last for feed in feeds.values() if feed.last is not None}
        try:
            news = await self._streams.read(after)
        except (RedisError, OSError) as error:
            if self.redis_up:
                log.warning("live hub: %s; states come from the database until Redis is back", error)
            self.redis_up = False
            await asyncio.sleep(RETRY_S)
            return
        if not self.redis_up:
            log.warning("live hub: Redis is back")
        self.redis_up = True
        for key, entries in news:
            kinds, behind = feeds[key].deliver(entries)
            for follower in behind:
                self._spawn(self._bring_on(feeds[key], follower))
            if kinds & NEWS or "started" in kinds:
                self._watch.look_soon(feeds[key].attempt_id)
        if news:
            await asyncio.sleep(GATHER_S)

    async def ping_redis(self) -> None:
        """A note to ourselves, so that the stream's lag is known also where nothing is written."""
        if self.redis_up:
            with contextlib.suppress(RedisError, OSError):
                await self._streams.wake()

    async def _bring_on(self, feed: Feed, follower: Follower) -> None:
        """Reads for one socket until it is where the reader is."""
        while follower in feed.followers and not follower.live:
            if not await drained(follower.outbox, settings.LABHUB_LIVE_SLOW_S):
                follower.outbox.close(TRY_AGAIN_LATER)
                return
            try:
                read_to = feed.last or await self._begin(feed)
                entries = await self._streams.since(feed.key, follower.position)
            except (RedisError, OSError):
                await asyncio.sleep(RETRY_S)
                continue
            for entry in entries:
                event_id, kind, message = opened(entry)
                feed.hear(event_id, kind)
                follower.deliver(event_id, message)
                if follower.outbox.full:
                    break
            else:
                if not entries and follower.position < read_to:
                    follower.skip_to(read_to)
                follower.live = follower.position >= (feed.last or read_to)

    async def _begin(self, feed: Feed) -> EventId:
        """The reader starts behind what the stream holds now: where a socket says it is may be anything."""
        last = await self._streams.last(feed.key)
        if feed.last is None:
            feed.last = last
            await self._streams.wake()
        return feed.last


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """The running loop's own."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub(settings.REDIS_URL)
    return _hubs[loop]
