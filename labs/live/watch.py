"""What the hub does by the clock: states every two seconds, with news at once, rights every five, a ping every ten."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from channels.db import DatabaseSyncToAsync
from django.conf import settings
from django.db import Error as DatabaseError

from labs.live.feed import Feed
from labs.live.follower import Follower, message_of
from labs.live.rights import ended
from labs.live.status import Status, statuses
from labs.models import State

if TYPE_CHECKING:
    from labs.live.hub import Hub

log = logging.getLogger(__name__)
Found = TypeVar("Found")
Step = Callable[[], Coroutine[Any, Any, None]]

PING = message_of({"kind": "ping"})

LOOKS_APART_S = 0.25
LAST_TOKENS_S = 1.9  # a worker that died, or a stream that is gone, tells no end


class Watch:
    """All database work of the hub runs in one thread of its own, so it holds one connection."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="live-watch")
        self._soon = asyncio.Event()
        self._news: set[UUID] = set()
        self._next_round_s = 0.0

    def look_soon(self, attempt_id: UUID) -> None:
        """The stream said that the database has news of this attempt."""
        self._news.add(attempt_id)
        self._soon.set()

    def close(self) -> None:
        self._thread.shutdown(wait=False)

    def steps(self) -> list[Step]:
        """Rounds to repeat for ever; each waits by itself."""
        return [self._watch_states, self._watch_rights, self._ping]

    async def _query(self, function: Callable[..., Found], *args: object) -> Found | None:
        """None: the database did not answer; the next round will."""
        run = DatabaseSyncToAsync(function, thread_sensitive=False, executor=self._thread)
        try:
            found: Found = await run(*args)
        except DatabaseError as error:
            log.warning("live watch: %s", error)
            return None
        return found

    async def _watch_states(self) -> None:
        """Everybody's by the clock, and in between theirs of whom there is news: these run or have ended, and what
        the places of a whole queue cost is not paid at every start and end in it."""
        loop = asyncio.get_running_loop()
        is_round = loop.time() >= self._next_round_s
        if is_round:
            self._next_round_s = loop.time() + settings.LABHUB_LIVE_STATE_S
        news, self._news = self._news, set()
        self._soon.clear()
        feeds = [
            feed
            for feed in self._hub.feeds.values()
            if (is_round or feed.attempt_id in news) and any(not f.finished for f in feed.followers)
        ]
        if feeds and (found := await self._query(statuses, [feed.attempt_id for feed in feeds])):
            for feed in feeds:
                if status := found.get(feed.attempt_id):
                    self._tell(feed, status, loop.time())
        await asyncio.sleep(LOOKS_APART_S)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._soon.wait(), self._next_round_s - loop.time())

    def _tell(self, feed: Feed, status: Status, now_s: float) -> None:
        if status.state in {State.QUEUED, State.RUNNING}:
            feed.settled_at_s = None
            for follower in feed.followers:
                follower.show(status)
            return
        # The last tokens come first: the run's last event tells that they have come, or a little time does.
        feed.settled_at_s = feed.settled_at_s or now_s
        waited = now_s - feed.settled_at_s >= LAST_TOKENS_S
        if feed.news_run >= status.run_number or waited:
            for follower in feed.followers:
                if self._hub.redis_up and not follower.live:
                    continue
                if feed.news_run < status.run_number:
                    follower.miss_end_of(status.run_number)
                if status.is_terminal:
                    follower.finish(status.version)
                else:
                    follower.show(status)

    async def _watch_rights(self) -> None:
        await asyncio.sleep(settings.LABHUB_LIVE_RIGHTS_S)
        followers = self._followers()
        codes = await self._query(ended, {follower.claim for follower in followers}) or {}
        for follower in followers:
            if code := codes.get(follower.claim):
                follower.outbox.close(code)

    async def _ping(self) -> None:
        await asyncio.sleep(settings.LABHUB_LIVE_PING_S)
        for follower in self._followers():
            if not follower.outbox.full:
                follower.outbox.write(PING)
        await self._hub.ping_redis()

    def _followers(self) -> list[Follower]:
        return [follower for feed in self._hub.feeds.values() for follower in feed.followers]
