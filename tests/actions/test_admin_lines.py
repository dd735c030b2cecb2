"""An admin's first four wishes, on a fake llama-server: add, drain, recover, upgrade."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from labs.actions import breaker, canaries
from labs.actions.canaries import claim_canaries, run_canaries
from labs.actions.claim import claim_next
from labs.actions.finish import finish
from labs.actions.probe import probe
from labs.clients import client_of
from labs.live.status import statuses
from labs.measure.control import Control
from labs.models import AuditRow, Endpoint, Pool, State
from tests.actions.conftest import Submit
from tests.actions.rows import claim, fresh
from tests.actions.toy import drive
from tests.fakellama.process import FakeServer
from tests.llama.byte_server import ByteServer, answer

KEY = "a-key-of-the-server"
QUICK = ("--scale", "0.5")  # a canary closes after 1.2 s of the wall, and must still find it writing


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeServer]:
    with FakeServer(tmp_path_factory.mktemp("fake"), *QUICK, api_key=KEY) as running:
        yield running


@pytest.fixture
def fake(server: FakeServer) -> Iterator[FakeServer]:
    yield server
    server.faults()


@pytest.fixture(autouse=True)
def long_lease(settings: Settings) -> None:
    """Nobody beats it here."""
    settings.LABHUB_LEASE_S = 600


def only(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """These canaries: all of them have tests of their own, and take their time."""
    monkeypatch.setattr(canaries, "CANARIES", {name: canaries.CANARIES[name] for name in names})


@pytest.fixture
def admin(db: None) -> Client:
    client = Client(headers={"accept-language": "en"})
    client.force_login(User.objects.create_superuser("root"))
    return client


def add(admin: Client, url: str, key: str = "", **more: str) -> str:
    """The page that follows."""
    data = {"name": "new", "base_url": url, "new_key": key, "verify_tls": "on", **more}
    page: str = admin.post(reverse("endpoint-add"), data, follow=True).content.decode()
    return page


def do(admin: Client, endpoint: Endpoint, what: str, note: str = "") -> str:
    where = reverse("endpoint-do", args=[endpoint.pk])
    page: str = admin.post(where, {"do": what, "note": note}, follow=True).content.decode()
    return page


def try_it(endpoint: Endpoint) -> bool:
    """As a driver does it. False: no canary is due."""
    held = claim_canaries("w")
    if held is None:
        return False
    assert held.endpoint == endpoint
    with client_of(held.endpoint) as client:
        run_canaries(held, client, Control())
    endpoint.refresh_from_db()
    return True


def test_1_what_is_right_is_found_and_the_key_never_shown_again(
    admin: Client, fake: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(monkeypatch, "content", "cancel")
    page = add(admin, fake.base_url + "/", KEY, log_path="", new_pool="class")
    endpoint = Endpoint.objects.get()
    assert (endpoint.state, endpoint.pool and endpoint.pool.name) == (Endpoint.State.UP, "class")
    for said in ("It answers, and it is a llama-server.", "It accepts the key.", endpoint.fingerprint):
        assert said in page
    assert endpoint.facts["model"] in page and endpoint.facts["build"] in page
    assert endpoint.abilities == {"slots": True, "metrics": True, "erase": True, "tokens": True}
    assert try_it(endpoint)
    page = admin.get(reverse("endpoint", args=[endpoint.pk])).content.decode()
    assert "An answer arrives token by token through this address." in page
    assert "A closed connection is passed on" in page
    for path in ("endpoints", "endpoints-now"):
        assert KEY not in admin.get(reverse(path)).content.decode()
    for path in ("endpoint", "endpoint-settings"):
        assert KEY not in admin.get(reverse(path, args=[endpoint.pk])).content.decode()
    assert KEY not in str(list(AuditRow.objects.values()))
    assert AuditRow.objects.get().what == "endpoint new"


def test_1_what_is_wrong_is_said_plainly(admin: Client, fake: FakeServer) -> None:
    assert "wants another key than the one entered here" in add(admin, fake.base_url, "wrong")
    assert Endpoint.objects.get().state == Endpoint.State.DOWN
    assert claim_canaries("w") is None
    where = reverse("endpoint-settings", args=[Endpoint.objects.get().pk])
    entered = {"name": "new", "base_url": fake.base_url, "verify_tls": "on"}
    page = admin.post(where, entered | {"new_key": KEY}, follow=True)
    assert "It accepts the key." in page.content.decode()
    page = admin.post(where, entered | {"name": "other"}, follow=True)  # the key stays
    assert "It accepts the key." in page.content.decode()

    refused = add(admin, fake.base_url.replace("127.0.0.1", "LOCALHOST"), KEY)
    assert "already exists" in refused
    for url, sentence in (
        ("ftp://127.0.0.1/", "must begin with http"),
        ("http://169.254.169.254/", "cloud&#x27;s metadata"),
        ("http://me:pw@127.0.0.1/", "user name or password"),
        ("http://169.254.7.7/", "Link-local addresses are never called"),
        ("http://no-such-host.invalid/", "No host has this name"),
    ):
        assert sentence in add(admin, url), url
    assert Endpoint.objects.count() == 1


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (answer("302 Found", b"", "text/html", "Location: http://127.0.0.1:1/"), "redirects to another one"),
        (answer("200 OK", b"<p>hello</p>", "text/html"), "it is not a llama-server"),
        (answer("502 Bad Gateway", b"", "text/html"), "It answers with an error: HTTP 502"),
    ],
)
def test_1_what_is_no_llama_server(said: bytes, sentence: str, admin: Client) -> None:
    with ByteServer(lambda peer: peer.send(said)) as stranger:
        assert sentence in add(admin, stranger.url)


@pytest.mark.parametrize(
    ("fault", "canary", "sentence"),
    [("buffer", "content", "something between"), ("deaf", "cancel", "A closed connection is not passed on")],
)
def test_1_what_stands_between_is_noticed(
    fault: str,
    canary: str,
    sentence: str,
    admin: Client,
    fake: FakeServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A proxy that keeps the answer back, or the closing to itself, looks to us like a server that does."""
    only(monkeypatch, canary)
    add(admin, fake.base_url, KEY)
    endpoint = Endpoint.objects.get()
    fake.faults({"kind": fault})
    assert sentence not in do(admin, endpoint, "probe").partition("What was found")[2]
    assert try_it(endpoint)
    page = admin.get(reverse("endpoint", args=[endpoint.pk])).content.decode()
    assert sentence in page.partition("What was found")[2]


def test_2_what_runs_ends_nothing_new_begins_and_the_queue_keeps_its_order(
    admin: Client, post: Submit, kim: User, lee: User, endpoint: Endpoint
) -> None:
    first, second = post(kim), post(lee)
    running = claim()
    assert running.attempt == first
    page = do(admin, endpoint, "drain", note="The fan is changed.")
    assert "Drains: what runs goes on to its end" in page
    assert claim_next("w") is None
    status = statuses([second.pk])[second.pk]
    assert (status.why, status.why_note, status.place) == ("paused", "The fan is changed.", 1)
    assert finish(running, drive())  # it was let to its end
    assert fresh(first).state == State.OPEN
    assert claim_next("w") is None
    third = post(User.objects.get(username="kim"), "two")
    Endpoint.objects.update(probed_at=timezone.now())
    do(admin, endpoint, "resume")
    endpoint.refresh_from_db()
    assert endpoint.pause_note == ""
    Endpoint.objects.update(state=Endpoint.State.UP)  # there is no server behind it here
    assert [claim_and_finish(), claim_and_finish()] == [second, third]
    assert [row.what for row in AuditRow.objects.order_by("pk")] == ["drain a", "resume a"]


def claim_and_finish() -> object:
    held = claim()
    finish(held, drive())
    return held.attempt


def test_2_paused_at_once_what_ran_is_first_again(
    admin: Client, post: Submit, kim: User, lee: User, endpoint: Endpoint
) -> None:
    first, second = post(kim), post(lee)
    running = claim()
    assert "back at the head of the queue" in do(admin, endpoint, "pause")
    assert not finish(running, drive())
    Endpoint.objects.update(state=Endpoint.State.UP)
    assert [claim_and_finish(), claim_and_finish()] == [first, second]


@pytest.mark.parametrize("asked", [True, False])
def test_2_removed_who_waits_is_given_back_only_if_asked(
    admin: Client, post: Submit, kim: User, lee: User, endpoint: Endpoint, asked: bool
) -> None:
    running, waiting = post(kim), post(lee)
    claim()
    where = reverse("endpoint-remove", args=[endpoint.pk])
    assert (
        "2 attempts wait or run there that no other server may run now" in admin.get(where).content.decode()
    )
    admin.post(where, {"give_back": "on"} if asked else {})
    state = State.ERRORED if asked else State.QUEUED
    assert (fresh(running).state, fresh(waiting).state) == (state, state)
    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.name) == (Endpoint.State.REMOVED, f"a #{endpoint.pk}")
    assert admin.get(reverse("endpoint", args=[endpoint.pk])).status_code == 404
    add(admin, endpoint.base_url)  # comes back, with its runs
    back = Endpoint.objects.get()
    assert (back.pk, back.name, back.state, back.run_set.count()) == (endpoint.pk, "new", "down", 1)


def test_3_while_it_loads_nothing_is_sent_and_it_comes_back_by_itself(
    admin: Client, fake: FakeServer, post: Submit, kim: User
) -> None:
    add(admin, fake.base_url, KEY)
    endpoint = Endpoint.objects.get()
    post(kim)
    fake.faults({"kind": "loading", "how": "error"})
    assert probe(endpoint) == Endpoint.State.LOADING
    assert claim_next("w") is None and claim_canaries("w") is None
    fake.faults()
    probe(endpoint)
    assert claim_next("w") is not None


def test_3_after_a_few_failures_one_canary_at_a_time_until_it_is_well(
    admin: Client,
    fake: FakeServer,
    post: Submit,
    kim: User,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only(monkeypatch, "content")
    add(admin, fake.base_url, KEY)
    endpoint = Endpoint.objects.get()
    post(kim)
    for _ in range(breaker.FAILURES + 2):
        breaker.failed(endpoint, "no token")
    assert claim_next("w") is None and claim_canaries("w") is None
    assert len([r for r in caplog.records if "rests" in r.message]) == 1
    Endpoint.objects.update(rest_until=timezone.now() - timedelta(seconds=1))
    assert claim_canaries("one") is not None
    assert claim_canaries("two") is None  # one at a time
    endpoint.lease.refresh_from_db()
    endpoint.lease.holder, endpoint.lease.expires_at = "", None
    endpoint.lease.save()
    assert try_it(endpoint)
    assert (endpoint.state, endpoint.failures) == (Endpoint.State.UP, 0)
    assert claim_next("w") is not None


def test_4_an_upgrade_is_kept_out_until_it_is_accepted_and_then_tried_anew(
    admin: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(monkeypatch, "content")
    with FakeServer(tmp_path, *QUICK) as old:
        add(admin, old.base_url, new_pool="class")
        endpoint = Endpoint.objects.get()
        assert try_it(endpoint)
        assert not try_it(endpoint)
        was = endpoint.fingerprint
    with FakeServer(tmp_path, *QUICK, "--ctx", "4096", port=old.port):
        probe(endpoint)
        assert claim_canaries("w") is None
        page = admin.get(reverse("endpoints")).content.decode()
        assert "Kept out: not the same as the other servers of its pool" in page  # staff are told
        assert "Accepted" in do(admin, endpoint, "accept")
        endpoint.refresh_from_db()
        assert endpoint.state == Endpoint.State.UP
        assert Pool.objects.get().fingerprint == endpoint.fingerprint != was
        assert try_it(endpoint)  # its canaries run again
        assert endpoint.canaries_of == endpoint.fingerprint
        page = admin.get(reverse("endpoint", args=[endpoint.pk])).content.decode()
        assert "One slot holds 2,048 tokens" in page
