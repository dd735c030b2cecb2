"""Redis goes away under open sockets: killed, frozen, flushed, restarted (case D5)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from labs.live.events import STREAM_LENGTH
from labs.live.topics import Publisher, Topic
from labs.models import Attempt, Run, State
from tests.live.servers import Valkey
from tests.live.sockets import Site

LogIn = Callable[[User], Client]
BACK_S = 10  # case D5's own limit


@pytest.fixture
def topic(own_valkey: Valkey, attempt: Attempt) -> Topic:
    return Publisher(own_valkey.url).topic(attempt.pk, 1)


def test_a_killed_redis_comes_back_empty_and_tokens_flow_again(
    own_site: Site, own_valkey: Valkey, attempt: Attempt, owner: User, log_in: LogIn, topic: Topic
) -> None:
    client = log_in(owner)
    topic.put("started", {})
    with own_site.open(client, attempt.pk) as socket:
        socket.until_id("1.1")
        own_valkey.stop()
        topic.put("tokens", {"text": "meanwhile"})
        Attempt.objects.filter(pk=attempt.pk).update(version=2)
        assert socket.until_kind("state")["version"] == 2  # the database still speaks
        with own_site.open(client, attempt.pk) as late:  # and a socket may open
            assert late.next()["kind"] == "state"
            own_valkey.start()
            topic.put("tokens", {"text": "again"})
            socket.until_id("1.3", BACK_S)
            assert socket.event_ids == ["1.1", "1.2", "1.3"]
            late.until_id("1.3", BACK_S)
            assert late.seen[1] == {"kind": "reset", "from": "1.1", "to": "1.1"}


def test_a_frozen_redis_thaws_and_nothing_is_lost(
    own_site: Site, own_valkey: Valkey, attempt: Attempt, owner: User, log_in: LogIn, topic: Topic
) -> None:
    topic.put("started", {})
    with own_site.open(log_in(owner), attempt.pk) as socket:
        socket.until_id("1.1")
        own_valkey.freeze()
        for number in range(20):
            topic.put("tokens", {"text": f"{number}"})
        assert not topic.flush(3)  # longer than every timeout
        own_valkey.thaw()
        socket.until_id("1.21", BACK_S)
        assert socket.event_ids == [f"1.{seq}" for seq in range(1, 22)]


def test_the_end_is_told_with_redis_down(
    own_site: Site, own_valkey: Valkey, attempt: Attempt, owner: User, log_in: LogIn, topic: Topic, ran: Run
) -> None:
    topic.put("started", {})
    with own_site.open(log_in(owner), attempt.pk) as socket:
        socket.until_id("1.1")
        own_valkey.stop()
        Attempt.objects.filter(pk=attempt.pk).update(state=State.GRADED, version=4)
        assert socket.until_kind("finished") == {"kind": "finished", "id": str(attempt.pk), "version": 4}
        # Nobody can know how much of the run was not told, so all that there may be is named.
        assert socket.seen[-2] == {"kind": "reset", "from": "1.2", "to": f"1.{STREAM_LENGTH}"}


def test_a_socket_opened_with_redis_down_hears_the_end(
    own_site: Site, own_valkey: Valkey, attempt: Attempt, owner: User, log_in: LogIn
) -> None:
    own_valkey.stop()
    with own_site.open(log_in(owner), attempt.pk) as socket:
        assert socket.next()["state"] == "running"
        Attempt.objects.filter(pk=attempt.pk).update(state=State.CANCELLED, version=2)
        assert socket.until_kind("finished")["version"] == 2


def test_a_flush_in_mid_stream_says_what_is_missing_and_reaches_the_end(
    own_site: Site, own_valkey: Valkey, attempt: Attempt, owner: User, log_in: LogIn, topic: Topic
) -> None:
    topic.put("started", {})
    with own_site.open(log_in(owner), attempt.pk) as socket, own_valkey.client() as redis:
        socket.until_id("1.1")
        own_site.daphne.freeze()  # the flush comes before the hub has read
        for _ in range(10):
            topic.put("tokens", {"text": "x"})
        assert topic.flush()
        redis.flushall()
        own_site.daphne.thaw()
        topic.put("tokens", {"text": "y"})
        socket.until_id("1.12", BACK_S)
        # What answered the read that stood open came through; the rest is named, to the last one.
        through = [int(event_id.partition(".")[2]) for event_id in socket.event_ids[:-1]]
        assert through == list(range(1, len(through) + 1))
        assert {"kind": "reset", "from": f"1.{len(through) + 1}", "to": "1.11"} in socket.seen
        Attempt.objects.filter(pk=attempt.pk).update(state=State.GRADED, version=2)
        assert topic.finish()
        socket.until_kind("finished")
