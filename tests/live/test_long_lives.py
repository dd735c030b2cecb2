"""Sockets that stay open for long, die without a word, or wait: on a real daphne and a real Valkey.

There is no channel layer and so no membership that could expire (cases D2, D3, D4, A10).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from labs.live.events import key_of
from labs.live.topics import Publisher, Topic
from labs.models import Attempt
from tests.live.servers import ROOT, Valkey
from tests.live.sockets import PATIENCE_S, Site
from tests.live.waits import until

LogIn = Callable[[User], Client]


@pytest.fixture
def topic(valkey: Valkey, attempt: Attempt) -> Topic:
    return Publisher(valkey.url).topic(attempt.pk, 1)


def keys(valkey: Valkey) -> set[bytes]:
    with valkey.client() as redis:
        return set(redis.scan_iter())  # type: ignore[arg-type]


def descriptors(site: Site) -> int:
    """Open files of the web process but for its connections to a database, which come and go by themselves."""
    to_database = _sockets_to(int(connection.settings_dict["PORT"] or 0))
    files = Path(f"/proc/{site.daphne.pid}/fd").iterdir()
    return sum(_target(file) not in to_database for file in files)


def _target(file: Path) -> str:
    try:
        return str(file.readlink())
    except FileNotFoundError:  # closed since it was listed
        return ""


def _sockets_to(port: int) -> set[str]:
    if not port:
        return set()
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {f"socket:[{line[9]}]" for line in lines if int(line[2].partition(":")[2], 16) == port}


@contextmanager
def nothing_logged(site: Site) -> Iterator[None]:
    before = len(site.daphne.log.read_text())
    yield
    logged = site.daphne.log.read_text()[before:]
    assert "took too long to shut down" not in logged
    assert "Traceback" not in logged


def test_tokens_arrive_one_by_one_also_at_a_client_that_takes_gzip(
    site: Site, attempt: Attempt, owner: User, log_in: LogIn, topic: Topic
) -> None:
    """A10a: twenty tokens, 50 ms apart, come at twenty times and not in one burst."""
    headers = {"Accept-Encoding": "gzip, deflate, br"}
    with site.open(log_in(owner), attempt.pk, headers=headers) as socket:
        assert not socket.connection.protocol.extensions, "nothing is compressed on a socket"
        socket.next()
        arrived_s = []
        for number in range(20):
            topic.put("tokens", {"text": f"{number} "})
            socket.until_kind("tokens")
            arrived_s.append(time.monotonic())
            time.sleep(0.05)  # the pace is the input
    assert len(set(arrived_s)) == 20
    assert arrived_s[-1] - arrived_s[0] >= 0.7


def test_no_view_streams() -> None:
    """A10a: so no gzip and no proxy can hold a stream back; what is live goes through sockets. A large file is
    sent in pieces, and nobody waits for one of them."""
    files = [*(ROOT / "labs").rglob("*.py"), *(ROOT / "labhub_voice").rglob("*.py")]
    streaming = {path.name for path in files if "StreamingHttpResponse" in path.read_text()}
    assert streaming <= {"my_data.py"}


def test_a_socket_outlives_its_stream(
    site: Site, attempt: Attempt, owner: User, log_in: LogIn, topic: Topic, valkey: Valkey
) -> None:
    """D2: everything that Redis kept has expired, the tab is still open, and then there is news."""
    with site.open(log_in(owner), attempt.pk) as socket:
        topic.put("started", {})
        socket.until_id("1.1")
        with valkey.client() as redis:
            redis.pexpire(key_of(attempt.pk), 1)
            until(lambda: not redis.exists(key_of(attempt.pk)))
        topic.put("tokens", {"text": "late"})
        assert socket.until_id("1.2")["text"] == "late"


def test_a_dead_socket_slows_nobody_and_leaves_nothing_behind(
    site: Site, attempt: Attempt, owner: User, log_in: LogIn, topic: Topic, valkey: Valkey
) -> None:
    """D2: killed without a close frame; the others get 200 messages, and Redis never knew of either."""
    client = log_in(owner)
    topic.put("started", {})
    assert topic.flush()
    before = keys(valkey)
    with nothing_logged(site), site.open(client, attempt.pk) as living:
        living.until_id("1.1")
        open_files = descriptors(site)
        dead = site.open(client, attempt.pk)
        dead.next()
        with_sockets = keys(valkey)
        dead.connection.socket.close()
        began_s = time.monotonic()
        for _ in range(200):
            topic.put("tokens", {"text": "x"})
        living.until_id("1.201")
        assert time.monotonic() - began_s < 5.0, "one who left held them up"
        assert living.event_ids == [f"1.{seq}" for seq in range(1, 202)]
        until(lambda: descriptors(site) <= open_files)
    assert with_sockets - before <= {key for key in with_sockets if b"wake" in key}, "no key for a socket"


def test_sockets_that_leave_while_they_wait_for_redis_hold_nobody_up(
    own_site: Site, own_valkey: Valkey, attempt: Attempt, owner: User, log_in: LogIn
) -> None:
    """D3: twenty wait for an answer that does not come, all tabs close at once, one more opens."""
    client = log_in(owner)
    with own_site.open(client, attempt.pk) as first:
        first.next()
        open_files = descriptors(own_site)
    own_valkey.freeze()
    try:
        with nothing_logged(own_site):
            took_s = []
            for _ in range(3):  # a busy machine may be slow in one of them
                waiting = [own_site.open(client, attempt.pk) for _ in range(20)]
                for socket in waiting:
                    socket.next()
                for socket in waiting:
                    socket.connection.socket.close()
                left_s = time.monotonic()
                with own_site.open(client, attempt.pk) as late:
                    assert late.next()["kind"] == "state"
                    took_s.append(time.monotonic() - left_s)
            assert median(took_s) < 1.0
            until(lambda: descriptors(own_site) <= open_files + 1)
    finally:
        own_valkey.thaw()


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has no server that could restart")
def test_a_database_that_restarts_costs_one_look_at_most(
    site: Site, attempt: Attempt, owner: User, log_in: LogIn
) -> None:
    """D4: every connection of the web process is ended by the server, as a restart does."""
    client = log_in(owner)
    with site.open(client, attempt.pk) as socket:
        socket.next()
        ended = 0

        def end_theirs() -> bool:
            nonlocal ended
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
                ended += cursor.fetchone()[0]
            return ended > 0

        until(end_theirs)
        Attempt.objects.filter(pk=attempt.pk).update(version=7)
        socket.until(lambda message: message.get("version") == 7, PATIENCE_S)
        with site.open(client, attempt.pk) as another:
            assert another.next()["version"] == 7
