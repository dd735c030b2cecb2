"""Many sockets, slow sockets, sockets that talk, sockets that leave: on a real daphne."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from websockets.exceptions import ConnectionClosed

from labs.live.topics import Publisher, Topic
from labs.models import Attempt
from tests.live.servers import Valkey
from tests.live.sockets import Site
from tests.live.waits import until

LogIn = Callable[[User], Client]


@pytest.fixture
def topic(valkey: Valkey, attempt: Attempt) -> Topic:
    return Publisher(valkey.url, queue_length=100_000).topic(attempt.pk, 1)


def resident_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def database_files(pid: int) -> int:
    """Connections to the tests' SQLite file: each holds it open once."""
    name = str(connection.settings_dict["NAME"])
    links = [link.readlink() for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()]
    return sum(str(link) == name for link in links)


def test_two_hundred_sockets_share_a_few_database_connections(
    site: Site, attempt: Attempt, owner: User, log_in: LogIn
) -> None:
    client = log_in(owner)
    most = 0
    with ThreadPoolExecutor(4) as threads:
        sockets = list(threads.map(lambda _: site.open(client, attempt.pk), range(200)))
    for socket in sockets:
        socket.next()
    Attempt.objects.filter(pk=attempt.pk).update(version=2)
    for socket in sockets:
        assert socket.next()["version"] == 2
        most = max(most, database_files(site.daphne.pid))
        socket.connection.close()
    assert most <= 4  # the connecting thread's and the hub's, perhaps a page's


def test_twenty_sockets_that_leave_at_once_leave_nothing_behind(
    site: Site, attempt: Attempt, owner: User, log_in: LogIn, topic: Topic
) -> None:
    client = log_in(owner)
    logged = len(site.daphne.log.read_text())
    took_s = []
    for event in range(1, 4):  # a busy machine may be slow in one of them
        sockets = [site.open(client, attempt.pk) for _ in range(20)]
        for socket in sockets:
            socket.connection.socket.close()  # no close frame: the laptop's lid
        began_s = time.monotonic()
        with site.open(client, attempt.pk) as socket:
            socket.next()
            took_s.append(time.monotonic() - began_s)
            topic.put("started", {})
            socket.until_id(f"1.{event}")
    assert median(took_s) < 1.0, "case D3"
    assert "took too long to shut down" not in site.daphne.log.read_text()[logged:]
    assert "Traceback" not in site.daphne.log.read_text()[logged:]


def test_a_socket_that_does_not_read_costs_no_memory_and_misses_nothing(
    site: Site, attempt: Attempt, owner: User, log_in: LogIn, topic: Topic
) -> None:
    client = log_in(owner)
    # `max_queue` makes the library stop reading: nothing here empties the socket until `recv` is called.
    slow = site.open(client, attempt.pk, max_queue=1, ping_interval=None)
    with site.open(client, attempt.pk) as quick:
        quick.next()
        before = resident_bytes(site.daphne.pid)
        for _ in range(10_000):
            topic.put("tokens", {"text": "x" * 2000})
        topic.put("note", {})
        assert topic.flush(20)
        quick.until_kind("note")
        assert len(quick.event_ids) == 10_001
        assert resident_bytes(site.daphne.pid) - before < 10_000_000  # half of what is not read
    slow.until_kind("note")
    assert slow.event_ids == [f"1.{seq}" for seq in range(1, 10_002)]
    slow.connection.close()


def test_a_socket_that_never_reads_again_is_dropped(
    own_site: Site, own_valkey: Valkey, attempt: Attempt, owner: User, log_in: LogIn
) -> None:
    topic = Publisher(own_valkey.url).topic(attempt.pk, 1)
    descriptors = Path(f"/proc/{own_site.daphne.pid}/fd")
    before = len(list(descriptors.iterdir()))
    slow = own_site.open(log_in(owner), attempt.pk, max_queue=1, ping_interval=None)
    for _ in range(10_000):
        topic.put("tokens", {"text": "x" * 2000})
    assert topic.flush(20)
    until(lambda: len(list(descriptors.iterdir())) <= before)
    with pytest.raises((ConnectionClosed, ConnectionError, EOFError)):
        while True:
            slow.next(5)


def test_pings_keep_coming(site: Site, attempt: Attempt, owner: User, log_in: LogIn) -> None:
    with site.open(log_in(owner), attempt.pk) as socket:
        kinds = [json.loads(socket.connection.recv(timeout=5))["kind"] for _ in range(4)]
    assert kinds == ["state", "ping", "ping", "ping"]


def test_a_client_has_nothing_to_say(site: Site, attempt: Attempt, owner: User, log_in: LogIn) -> None:
    client = log_in(owner)
    with site.open(client, attempt.pk) as socket:
        socket.connection.send('{"kind": "finished"}')
        socket.connection.send(b"\x00")
        Attempt.objects.filter(pk=attempt.pk).update(version=2)
        socket.until(lambda message: message.get("version") == 2)
        for _ in range(60):
            socket.connection.send("hello")
        assert socket.close_code() == 4008
    with site.open(client, attempt.pk) as socket, pytest.raises(ConnectionClosed):
        socket.connection.send("x" * 100_000)
        socket.until_kind("never")
