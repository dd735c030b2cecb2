"""One attempt's socket, from a real connection to a real daphne: what comes, in what order, from where on."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from labs.live.topics import Publisher, Topic
from labs.models import Attempt, Run, State
from tests.live.servers import Valkey
from tests.live.sockets import Site

LogIn = Callable[[User], Client]


@pytest.fixture
def topic(valkey: Valkey, attempt: Attempt) -> Topic:
    return Publisher(valkey.url).topic(attempt.pk, 1)


def put_tokens(topic: Topic, count: int) -> None:
    for number in range(count):
        topic.put("tokens", {"text": f" {number}"})
    assert topic.flush(10)


def ids(first: int, last: int, run: int = 1) -> list[str]:
    return [f"{run}.{seq}" for seq in range(first, last + 1)]


def test_a_state_comes_first_then_every_event_once_and_in_order(
    site: Site, attempt: Attempt, owner: User, topic: Topic, log_in: LogIn
) -> None:
    put_tokens(topic, 50)
    with site.open(log_in(owner), attempt.pk) as socket:
        first = socket.next()
        assert (first["kind"], first["state"], first["version"]) == ("state", "running", 1)
        put_tokens(topic, 700)
        socket.until_id("1.750")
        assert socket.event_ids == ids(1, 750)
        texts = [message["text"] for message in socket.seen if message["kind"] == "tokens"]
        assert texts == [f" {n}" for n in range(50)] + [f" {n}" for n in range(700)]


@pytest.mark.parametrize("after", [0, 1, 499, 500, 501, 1199, 1200])
def test_a_socket_resumes_from_any_event(
    site: Site, attempt: Attempt, owner: User, topic: Topic, log_in: LogIn, after: int
) -> None:
    put_tokens(topic, 1200)
    with site.open(log_in(owner), attempt.pk, after=f"1.{after}") as socket:
        put_tokens(topic, 1)
        socket.until_id("1.1201")
        assert socket.event_ids == ids(after + 1, 1201)


def test_sockets_that_come_in_the_middle_see_neither_gap_nor_double(
    site: Site, attempt: Attempt, owner: User, topic: Topic, log_in: LogIn
) -> None:
    client = log_in(owner)
    stop = threading.Event()

    def publish() -> None:
        while not stop.wait(0.002):
            topic.put("tokens", {"text": "x"})

    publisher = threading.Thread(target=publish)
    publisher.start()
    try:
        sockets = [site.open(client, attempt.pk) for _ in range(10)]
    finally:
        stop.set()
        publisher.join()
    topic.put("note", {})
    assert topic.flush(10)
    for socket in sockets:
        last = socket.until_kind("note")["id"]
        assert socket.event_ids == ids(1, int(last.partition(".")[2]))
        socket.connection.close()


@pytest.mark.parametrize("after", ["", "x", "-1.5", "1", "%00"])
def test_a_bad_place_to_resume_means_from_the_start(
    site: Site, attempt: Attempt, owner: User, topic: Topic, log_in: LogIn, after: str
) -> None:
    put_tokens(topic, 3)
    with site.open(log_in(owner), attempt.pk, after=after) as socket:
        socket.until_id("1.3")
        assert socket.event_ids == ids(1, 3)


def test_a_place_that_never_was_harms_nobody_else(
    site: Site, attempt: Attempt, owner: User, topic: Topic, log_in: LogIn
) -> None:
    put_tokens(topic, 3)
    client = log_in(owner)
    with site.open(client, attempt.pk, after="900.900") as liar, site.open(client, attempt.pk) as socket:
        liar.next()
        put_tokens(topic, 3)
        socket.until_id("1.6")
        assert socket.event_ids == ids(1, 6)


def test_a_new_run_passes_through(
    site: Site, attempt: Attempt, owner: User, topic: Topic, log_in: LogIn, valkey: Valkey
) -> None:
    put_tokens(topic, 5)
    with site.open(log_in(owner), attempt.pk, after="1.3") as socket:
        again = Publisher(valkey.url).topic(attempt.pk, 2)
        again.put("started", {})
        again.put("tokens", {"text": "x"})
        socket.until_id("2.2")
        assert socket.event_ids == [*ids(4, 5), *ids(1, 2, run=2)]
        assert not [message for message in socket.seen if message["kind"] == "reset"]


def test_what_a_flush_took_is_named_and_the_rest_comes(
    site: Site, attempt: Attempt, owner: User, topic: Topic, log_in: LogIn, valkey: Valkey
) -> None:
    client = log_in(owner)
    put_tokens(topic, 20)
    with site.open(client, attempt.pk) as before:
        before.until_id("1.20")
        with valkey.client() as redis:
            redis.flushall()
        put_tokens(topic, 5)
        before.until_id("1.25")
        assert before.event_ids == ids(1, 25)  # it had them all; nothing is missing for this one
        with site.open(client, attempt.pk, after="1.7") as late:
            late.until_id("1.25")
            assert late.seen[1:2] == [{"kind": "reset", "from": "1.8", "to": "1.20"}]
            assert late.event_ids == ids(21, 25)
    with site.open(client, attempt.pk) as new:
        new.until_id("1.25")
        assert new.seen[1:2] == [{"kind": "reset", "from": "1.1", "to": "1.20"}]


def test_events_lost_before_redis_are_named_to_a_live_socket(
    site: Site, attempt: Attempt, owner: User, log_in: LogIn, valkey: Valkey, topic: Topic
) -> None:
    put_tokens(topic, 2)
    with site.open(log_in(owner), attempt.pk) as socket:
        socket.until_id("1.2")
        for _ in range(3):
            next(topic._seq)  # as a full queue leaves them out
        put_tokens(topic, 1)
        socket.until_id("1.6")
        assert socket.seen[-2] == {"kind": "reset", "from": "1.3", "to": "1.5"}


def test_nothing_known_is_left_when_the_whole_stream_is_gone(
    site: Site, attempt: Attempt, owner: User, topic: Topic, log_in: LogIn, valkey: Valkey
) -> None:
    client = log_in(owner)
    put_tokens(topic, 9)
    with site.open(client, attempt.pk) as first:
        first.until_id("1.9")
        with valkey.client() as redis:
            redis.flushall()
        # The hub still knows how far it has read, and says so to who comes now.
        with site.open(client, attempt.pk, after="1.4") as late:
            assert late.until_kind("reset") == {"kind": "reset", "from": "1.5", "to": "1.9"}


def test_a_change_of_state_is_pushed(site: Site, attempt: Attempt, owner: User, log_in: LogIn) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(state=State.QUEUED)
    with site.open(log_in(owner), attempt.pk) as socket:
        assert socket.next()["place"] == 1
        Attempt.objects.filter(pk=attempt.pk).update(state=State.RUNNING, version=2)
        assert socket.until_kind("state")["state"] == "running"
        Attempt.objects.filter(pk=attempt.pk).update(state=State.OPEN, version=3)
        assert socket.until_kind("state")["state"] == "open"


def test_the_end_is_told_once_after_the_last_token_and_carries_no_verdict(
    site: Site, attempt: Attempt, owner: User, topic: Topic, log_in: LogIn, ran: Run
) -> None:
    client = log_in(owner)
    with site.open(client, attempt.pk) as socket:
        put_tokens(topic, 300)
        Attempt.objects.filter(pk=attempt.pk).update(state=State.GRADED, version=5)
        put_tokens(topic, 300)
        assert topic.finish()
        end = socket.until_kind("finished")
        assert end == {"kind": "finished", "id": str(attempt.pk), "version": 5}
        assert socket.event_ids == ids(1, 600)
        with site.open(client, attempt.pk) as late:
            late.until_kind("finished")
        with pytest.raises(TimeoutError):
            socket.next(timeout_s=1)


def test_a_round_that_ends_without_ending_the_attempt_is_told_after_its_last_token(
    site: Site, attempt: Attempt, owner: User, topic: Topic, log_in: LogIn, ran: Run
) -> None:
    with site.open(log_in(owner), attempt.pk) as socket:
        socket.until_kind("state")  # what it was when the page opened
        put_tokens(topic, 300)
        Attempt.objects.filter(pk=attempt.pk).update(state=State.OPEN, version=5)
        put_tokens(topic, 300)
        assert topic.finish()
        socket.until(lambda message: message.get("state") == "open")
        assert socket.event_ids == ids(1, 600)


def test_the_end_comes_also_when_the_worker_told_nothing(
    site: Site, attempt: Attempt, owner: User, topic: Topic, log_in: LogIn
) -> None:
    put_tokens(topic, 3)
    with site.open(log_in(owner), attempt.pk) as socket:
        Attempt.objects.filter(pk=attempt.pk).update(state=State.ERRORED, reason="worker_lost", version=2)
        assert socket.until_kind("finished")["version"] == 2


def test_a_socket_opened_after_the_end_gets_state_stream_and_end(
    site: Site, attempt: Attempt, owner: User, topic: Topic, log_in: LogIn, ran: Run
) -> None:
    put_tokens(topic, 3)
    assert topic.finish()
    Attempt.objects.filter(pk=attempt.pk).update(state=State.GRADED, version=2)
    with site.open(log_in(owner), attempt.pk) as socket:
        socket.until_kind("finished")
        assert [message["kind"] for message in socket.seen] == [
            "state",
            "tokens",
            "tokens",
            "tokens",
            "finished",
        ]
