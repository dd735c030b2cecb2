"""The hub inside this process, on the real Valkey: what a daphne from outside cannot show."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client
from pytest_django import Settings

from labs.live import streams, watch
from labs.live.events import START
from labs.live.follower import Claim, Follower
from labs.live.hub import Hub, hub
from labs.live.outbox import MESSAGES_WAITING, QueueOutbox, outbox_for
from labs.live.status import Status, statuses
from labs.live.topics import Publisher, Topic
from labs.models import Attempt
from tests.live.servers import Valkey

PATIENCE_S = 20


class Browser:
    """The far end of a server whose `send` waits for the client."""

    def __init__(self) -> None:
        self.reads = asyncio.Event()
        self.reads.set()
        self.got: list[dict[str, Any]] = []
        self.closed_with: int | None = None
        self._news = asyncio.Event()

    async def send(self, message: dict[str, Any]) -> None:
        await self.reads.wait()
        if message["type"] == "websocket.close":
            self.closed_with = message["code"]
        else:
            self.got.append(json.loads(message["text"]))
        self._news.set()

    async def until(self, found: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not found():
                self._news.clear()
                await self._news.wait()

    @property
    def ids(self) -> list[str]:
        return [message["id"] for message in self.got if message["kind"] == "tokens"]


@pytest.fixture
def topic(valkey: Valkey, attempt: Attempt) -> Topic:
    return Publisher(valkey.url).topic(attempt.pk, 1)


@pytest.fixture
def claim(attempt: Attempt, owner: User, log_in: Callable[[User], Client]) -> Claim:
    return Claim(owner.pk, owner.pk, attempt.course_id, str(log_in(owner).session.session_key))


@pytest.fixture
async def a_hub(transactional_db: None, valkey: Valkey) -> AsyncIterator[Hub]:
    yield Hub(valkey.url)


async def settled() -> None:
    """Cancelled tasks and closed connections are gone."""
    async with asyncio.timeout(PATIENCE_S):
        while len(asyncio.all_tasks()) > 1:
            await asyncio.sleep(0.01)


def follower_of(attempt: Attempt, claim: Claim, browser: Browser) -> Follower:
    return Follower(attempt.pk, claim, QueueOutbox(browser.send), START)


async def test_a_reader_that_waits_hears_of_a_new_attempt_at_once(
    a_hub: Hub, attempt: Attempt, claim: Claim, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No read ends by itself while this test runs: only the wake stream can make the reader look at the new one.
    monkeypatch.setattr(streams, "BLOCK_MS", 600_000)
    monkeypatch.setattr(streams, "TIMEOUT_S", 900.0)
    browser = Browser()
    follower = follower_of(attempt, claim, browser)
    a_hub.follow(follower)
    async with asyncio.timeout(PATIENCE_S):
        while not follower.live:
            await asyncio.sleep(0.01)
    topic.put("tokens", {"text": "x"})
    await browser.until(lambda: browser.ids == ["1.1"])
    a_hub.leave(follower)
    await settled()


async def test_nothing_is_left_running_when_the_last_socket_has_gone(
    a_hub: Hub, attempt: Attempt, claim: Claim, topic: Topic, valkey: Valkey
) -> None:
    followers = [follower_of(attempt, claim, Browser()) for _ in range(3)]
    with valkey.client() as redis:
        before = len(redis.client_list())
        for _ in range(3):  # and it starts again
            for follower in followers:
                a_hub.follow(follower)
            for follower in followers:
                a_hub.leave(follower)
                a_hub.leave(follower)  # a socket may leave twice
            await settled()
        assert not a_hub.feeds
        async with asyncio.timeout(PATIENCE_S):
            while len(redis.client_list()) > before + 1:  # the publisher's
                await asyncio.sleep(0.02)


async def test_a_server_that_waits_for_its_client_holds_up_that_client_only(
    a_hub: Hub, attempt: Attempt, claim: Claim, topic: Topic
) -> None:
    slow, quick = Browser(), Browser()
    slow.reads.clear()
    followers = [follower_of(attempt, claim, browser) for browser in (slow, quick)]
    for follower in followers:
        a_hub.follow(follower)
    count = MESSAGES_WAITING * 5
    for _ in range(count):
        topic.put("tokens", {"text": "x"})
    await quick.until(lambda: len(quick.ids) == count)
    assert len(followers[0].outbox._waiting) <= MESSAGES_WAITING + 2  # type: ignore[attr-defined]
    slow.reads.set()
    await slow.until(lambda: len(slow.ids) == count)
    assert slow.ids == quick.ids == [f"1.{seq}" for seq in range(1, count + 1)]
    for follower in followers:
        a_hub.leave(follower)
    await settled()


@pytest.mark.parametrize(
    "fault", [OperationalError("the database is restarting"), RuntimeError("a fault of ours")]
)
async def test_a_failed_look_at_the_database_is_followed_by_the_next(
    a_hub: Hub,
    attempt: Attempt,
    claim: Claim,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    fault: Exception,
) -> None:
    settings.LABHUB_LIVE_STATE_S = 0.3
    faults = [fault]

    def first_fails(ids: list[UUID]) -> dict[UUID, Status]:
        if faults:
            raise faults.pop()
        return statuses(ids)

    monkeypatch.setattr(watch, "statuses", first_fails)
    browser = Browser()
    follower = follower_of(attempt, claim, browser)
    a_hub.follow(follower)
    await browser.until(lambda: [message["state"] for message in browser.got] == ["running"])
    assert not faults
    a_hub.leave(follower)
    await settled()


async def test_each_event_loop_has_one_hub() -> None:
    assert hub() is hub()


async def test_an_unknown_server_gets_a_plain_queue() -> None:
    assert isinstance(outbox_for(Browser().send), QueueOutbox)
