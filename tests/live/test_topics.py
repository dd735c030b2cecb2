"""The worker's end, against a real Valkey that is stopped, flushed and killed."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from typing import Any
from uuid import uuid4

import pytest

from labs.live import topics
from labs.live.events import EventId, key_of
from labs.live.redis_writer import TIMEOUT_S, Entry, RedisWriter
from labs.live.topics import Publisher
from tests.live.servers import ROOT, Valkey
from tests.live.waits import until

# A hundred puts together take less than one of them would if it waited for Redis.
AT_ONCE_S = 0.5 * TIMEOUT_S


def ids(valkey: Valkey, attempt_id: object) -> list[str]:
    with valkey.client() as client:
        entries: Any = client.xrange(key_of(attempt_id))  # type: ignore[arg-type]
    return [raw_id.decode() for raw_id, _ in entries]


def test_events_of_many_threads_are_numbered_without_a_hole_and_stored_in_order(valkey: Valkey) -> None:
    attempt_id = uuid4()
    topic = Publisher(valkey.url).topic(attempt_id, 3)

    def put_tokens() -> None:
        for _ in range(200):
            topic.put("tokens", {"text": "x"})

    threads = [threading.Thread(target=put_tokens) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert topic.flush(10)
    assert ids(valkey, attempt_id) == [f"3-{seq}" for seq in range(1, 1001)]


def test_a_finished_stream_expires_in_two_minutes_and_an_abandoned_one_in_a_day(valkey: Valkey) -> None:
    finished, abandoned = uuid4(), uuid4()
    publisher = Publisher(valkey.url)
    publisher.topic(abandoned, 1).put("started", {})
    topic = publisher.topic(finished, 1)
    topic.put("tokens", {"text": "x"})
    assert topic.finish()
    with valkey.client() as client:
        assert 100 < client.ttl(key_of(finished)) <= 120
        assert 86_000 < client.ttl(key_of(abandoned)) <= 86_400
        last: Any = client.xrevrange(key_of(finished), count=1)
        assert last[0][0] == b"1-2"
        assert list(last[0][1]) == [b"finished"]


def test_a_stale_run_is_refused_by_redis_and_never_hears_of_it(
    valkey: Valkey, caplog: pytest.LogCaptureFixture
) -> None:
    attempt_id = uuid4()
    stale, fresh = Publisher(valkey.url).topic(attempt_id, 1), Publisher(valkey.url).topic(attempt_id, 2)
    stale.put("started", {})
    assert stale.flush()
    fresh.put("started", {})
    assert fresh.flush()
    with caplog.at_level(logging.WARNING):
        stale.put("tokens", {"text": "late"})
        stale.put("tokens", {"text": "later"})
        assert stale.flush()
    assert ids(valkey, attempt_id) == ["1-1", "2-1"]
    assert ["run 1" in record.message and "stale" in record.message for record in caplog.records] == [True]


def test_a_flush_leaves_a_hole_in_the_numbers_and_the_run_goes_on(valkey: Valkey) -> None:
    attempt_id = uuid4()
    topic = Publisher(valkey.url).topic(attempt_id, 1)
    topic.put("started", {})
    assert topic.flush()
    with valkey.client() as client:
        client.flushall()
    topic.put("tokens", {"text": "x"})
    assert topic.flush()
    assert ids(valkey, attempt_id) == ["1-2"]


def test_a_killed_redis_costs_only_what_it_held(own_valkey: Valkey) -> None:
    attempt_id = uuid4()
    topic = Publisher(own_valkey.url).topic(attempt_id, 1)
    topic.put("started", {})
    assert topic.flush()
    own_valkey.stop()
    began_s = time.monotonic()
    for _ in range(100):
        topic.put("tokens", {"text": "x"})
    assert time.monotonic() - began_s < AT_ONCE_S
    assert not topic.flush(0.1)
    own_valkey.start()
    until(lambda: ids(own_valkey, attempt_id) == [f"1-{seq}" for seq in range(2, 102)], 10)


def test_a_frozen_redis_holds_nobody_up_and_gets_each_event_once(own_valkey: Valkey) -> None:
    attempt_id = uuid4()
    topic = Publisher(own_valkey.url).topic(attempt_id, 1)
    topic.put("started", {})
    assert topic.flush()
    own_valkey.freeze()
    began_s = time.monotonic()
    for _ in range(100):
        topic.put("tokens", {"text": "x"})
    assert time.monotonic() - began_s < AT_ONCE_S
    # Long enough for a write to time out and be repeated: the first one still stands in the frozen socket.
    assert not topic.flush(2.5)
    own_valkey.thaw()
    until(lambda: ids(own_valkey, attempt_id) == [f"1-{seq}" for seq in range(1, 102)], 10)


def test_a_batch_repeated_after_a_lost_answer_makes_nobody_stale(
    valkey: Valkey, caplog: pytest.LogCaptureFixture
) -> None:
    attempt_id = uuid4()
    writer = RedisWriter(valkey.url)
    batch = [Entry(key_of(attempt_id), EventId(1, seq), "tokens", "{}") for seq in (1, 2)]
    assert writer.write(batch)
    assert writer.write(batch)
    assert writer.write([Entry(key_of(attempt_id), EventId(1, 3), "tokens", "{}")])
    assert ids(valkey, attempt_id) == ["1-1", "1-2", "1-3"]
    assert not caplog.records


def test_a_full_queue_drops_the_oldest_and_counts_them(own_valkey: Valkey) -> None:
    attempt_id = uuid4()
    own_valkey.stop()
    publisher = Publisher(own_valkey.url, queue_length=50)
    topic = publisher.topic(attempt_id, 1)
    topic.put("started", {})  # the batch that is being tried is not in the queue any more
    until(lambda: not publisher._entries)
    for _ in range(80):
        topic.put("tokens", {"text": "x"})
    assert publisher.dropped == 30
    own_valkey.start()
    until(lambda: ids(own_valkey, attempt_id) == ["1-1", *(f"1-{seq}" for seq in range(32, 82))], 10)


def test_runs_in_a_row_share_one_connection(valkey: Valkey) -> None:
    publisher = Publisher(valkey.url)
    with valkey.client() as client:
        counts = []
        for run in range(1, 4):
            topic = publisher.topic(uuid4(), run)
            for _ in range(10):
                topic.put("tokens", {"text": "x"})
            assert topic.flush()
            counts.append(client.info("clients")["connected_clients"])
    assert len(set(counts)) == 1


def test_a_forked_worker_publishes_by_itself(valkey: Valkey) -> None:
    """Celery's prefork pool imports first and forks then; a thread does not come along."""
    before, after = uuid4(), uuid4()
    script = f"""
import os, sys, uuid
from labs.live.topics import Publisher
publisher = Publisher({valkey.url!r})
topic = publisher.topic(uuid.UUID({str(before)!r}), 1)
topic.put("started", {{}})
assert topic.flush()
if (pid := os.fork()) == 0:
    topic = publisher.topic(uuid.UUID({str(after)!r}), 1)
    topic.put("started", {{}})
    os._exit(0 if topic.flush() else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], cwd=ROOT, check=True, timeout=30)
    assert ids(valkey, before) == ids(valkey, after) == ["1-1"]


def test_the_process_has_one_publisher_on_the_settings_redis(valkey: Valkey) -> None:
    topics.publisher.cache_clear()
    attempt_id = uuid4()
    topic = topics.publisher().topic(attempt_id, 1)
    topic.put("started", {})
    assert topic.flush()
    assert ids(valkey, attempt_id) == ["1-1"]
    assert topics.publisher() is topics.publisher()
    topics.publisher.cache_clear()


def test_a_fault_of_ours_costs_one_batch_and_not_the_thread(
    valkey: Valkey, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    attempt_id = uuid4()
    topic = Publisher(valkey.url).topic(attempt_id, 1)
    with monkeypatch.context() as broken:
        broken.setattr(RedisWriter, "write", lambda self, batch: 1 / 0)
        topic.put("tokens", {"text": "lost"})
        assert topic.flush(10), "nobody waits for what cannot be written"
    topic.put("tokens", {"text": "kept"})
    assert topic.flush(10)
    assert ids(valkey, attempt_id) == ["1-2"]
    assert "could not be written" in caplog.text


def test_a_forked_worker_publishes_run_after_run_on_one_connection(valkey: Valkey) -> None:
    """D9: one prefork process, three tasks in a row, ten messages each."""
    runs = [uuid4() for _ in range(3)]
    script = f"""
import os, sys, uuid
from labs.live.topics import Publisher
from labs.live.redis_writer import connect
publisher = Publisher({valkey.url!r})
if (pid := os.fork()) == 0:
    redis = connect({valkey.url!r})
    counts = set()
    for attempt in {[str(run) for run in runs]!r}:
        topic = publisher.topic(uuid.UUID(attempt), 1)
        for number in range(9):
            topic.put("tokens", {{"text": str(number)}})
        assert topic.finish()
        counts.add(redis.info("clients")["connected_clients"])
    os._exit(0 if len(counts) == 1 else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], cwd=ROOT, capture_output=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert [ids(valkey, run) for run in runs] == [[f"1-{seq}" for seq in range(1, 11)]] * 3
