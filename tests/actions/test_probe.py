"""Probes: what they store, for whom, and how often."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone
from pytest_django import Settings

from labs.actions import probe as probe_module
from labs.actions.canaries import claim_canaries
from labs.actions.finish import endpoint_is
from labs.actions.probe import due, probe, probe_due
from labs.models import Endpoint, Lease, Pool
from tests.llama.byte_server import ByteServer, Peer, answer

PROPS = {
    "default_generation_settings": {"n_ctx": 2048},
    "total_slots": 2,
    "model_path": "/models/small.gguf",
    "chat_template": "\ud800",
    "build_info": "b1\x00",
}

ANSWERS = {
    "/health": {"status": "ok"},
    "/slots": [{"id": 0, "n_ctx": 2048, "is_processing": False}],
    "/props": PROPS,
}


@pytest.fixture
def server() -> Iterator[ByteServer]:
    def say(peer: Peer) -> None:
        found = ANSWERS.get(peer.path)
        peer.send(answer("200 OK" if found else "404 Not Found", json.dumps(found or {}).encode()))

    with ByteServer(say) as running:
        yield running


@pytest.fixture
def here(server: ByteServer, db: None) -> Endpoint:
    return Endpoint.objects.create(name="here", base_url=server.url, facts={"batch": 128})


def test_a_probe_keeps_what_it_cannot_ask_and_stores_what_postgres_can_hold(here: Endpoint) -> None:
    assert probe(here) == Endpoint.State.UP
    here.refresh_from_db()
    assert (here.state, here.facts["batch"], here.facts["n_ctx"]) == ("up", 128, 2048)
    assert (here.facts["model"], here.facts["build"]) == ("small.gguf", "b1\ufffd")
    assert here.probed_at is not None
    assert here.abilities == {"slots": True, "metrics": False, "erase": False, "tokens": False}


def test_what_was_found_at_an_old_address_is_not_stored_for_the_new(here: Endpoint) -> None:
    Endpoint.objects.filter(pk=here.pk).update(base_url="http://127.0.0.1:1", facts={})
    probe(here)
    endpoint_is(here, Endpoint.State.DOWN, "gone")
    moved = Endpoint.objects.get(pk=here.pk)
    assert (moved.state, moved.facts, moved.probed_at) == ("unknown", {}, None)


def test_the_first_of_a_pool_says_what_the_others_must_be(here: Endpoint) -> None:
    pool = Pool.objects.create(name="class")
    here.pool = pool
    here.save()
    assert probe(here) == Endpoint.State.UP
    pool.refresh_from_db()
    here.refresh_from_db()
    assert pool.fingerprint == here.fingerprint != ""
    assert probe(here) == Endpoint.State.UP

    Pool.objects.update(fingerprint="another")
    assert probe(Endpoint.objects.get(pk=here.pk)) == Endpoint.State.QUARANTINED
    here.refresh_from_db()
    assert (here.state, here.detail) == ("quarantined", "another model, build or size than its pool has")

    Pool.objects.update(fingerprint=here.fingerprint)  # an admin accepts it
    assert probe(Endpoint.objects.get(pk=here.pk)) == Endpoint.State.UP


@pytest.mark.parametrize("state", ["paused", "resting"])
def test_what_a_probe_may_not_lift(here: Endpoint, state: str) -> None:
    Endpoint.objects.update(state=state)
    probe(here)
    here.refresh_from_db()
    assert here.state == state


def test_a_paused_endpoint_stays_paused(here: Endpoint) -> None:
    Endpoint.objects.update(state=Endpoint.State.PAUSED)
    probe(here)
    here.refresh_from_db()
    assert (here.state, here.facts["n_ctx"]) == ("paused", 2048)


def test_what_it_can_answer_is_asked_when_it_has_changed(here: Endpoint) -> None:
    probe(here)
    here.refresh_from_db()
    Endpoint.objects.update(abilities={"slots": False})
    probe(Endpoint.objects.get())
    assert Endpoint.objects.get().abilities == {"slots": False}
    probe(Endpoint.objects.get(), thoroughly=True)
    assert Endpoint.objects.get().abilities["slots"]
    Endpoint.objects.update(abilities={"slots": False}, fingerprint="an older build")
    probe(Endpoint.objects.get())
    assert Endpoint.objects.get().abilities["slots"]


@pytest.mark.parametrize(
    ("said", "detail"),
    [
        (answer("302 Found", b"", "text/html", "Location: http://127.0.0.1:1/"), "stranger redirect"),
        (answer("200 OK", b"<html>", "text/html"), "stranger http 200"),
        (answer("503 Service Unavailable", b'{"error": {"message": "Loading model"}}'), ""),
        (answer("401 Unauthorized", b"{}"), "unauthorised"),
    ],
)
def test_what_is_wrong_is_kept_as_a_code(said: bytes, detail: str, db: None) -> None:
    with ByteServer(lambda peer: peer.send(said)) as server:
        endpoint = Endpoint.objects.create(name="odd", base_url=server.url)
        probe(endpoint)
    endpoint.refresh_from_db()
    assert endpoint.detail == detail


def test_an_address_that_is_not_called_any_more(db: None, settings: Settings) -> None:
    settings.LABHUB_ALLOW_LOCAL_ENDPOINTS = False
    endpoint = Endpoint.objects.create(name="near", base_url="http://127.0.0.1:1")
    probe(endpoint)
    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.detail) == ("down", "address local")


def test_a_removed_endpoint_is_not_probed(here: Endpoint) -> None:
    Endpoint.objects.update(state=Endpoint.State.REMOVED)
    assert not due().exists()


def test_a_second_wake_up_finds_nothing_to_do(here: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(endpoint: Endpoint) -> Endpoint.State:
        asked.append(endpoint.name)
        return probe(endpoint)

    monkeypatch.setattr(probe_module, "probe", counted)
    probe_due()
    probe_due()
    assert asked == ["here"]


@pytest.mark.parametrize(
    ("before", "detail", "wanted"),
    [
        ("down", "unreachable", True),
        ("loading", "", True),
        ("quarantined", "", True),
        ("down", "timeout", False),  # too slow for a probe is not started anew
        ("down", "GET /props: no answer in time", False),
        ("up", "", False),
        ("paused", "", False),
    ],
)
def test_c4_the_first_answer_after_a_start_is_a_canarys(
    before: str, detail: str, wanted: bool, here: Endpoint
) -> None:
    """No student has a server's slowest answer, even where its canaries were tried just before it went away."""
    Endpoint.objects.filter(pk=here.pk).update(
        state=before, detail=detail, canaries_wanted=False, canaries_tried_at=timezone.now()
    )
    assert probe(here) == Endpoint.State.UP
    here.refresh_from_db()
    assert here.canaries_wanted is wanted
    Endpoint.objects.update(canaries_of=F("fingerprint"), canaries_at=Now())
    assert (claim_canaries("w") is not None) is wanted


@pytest.mark.parametrize(
    ("leased", "probed_s", "is_due"), [(True, 15, False), (True, 25, True), (False, 15, True)]
)
def test_a_server_that_is_measured_is_seldom_looked_at(
    leased: bool, probed_s: int, is_due: bool, here: Endpoint
) -> None:
    until = timezone.now() + timedelta(seconds=20 if leased else -1)
    Lease.objects.filter(endpoint=here).update(holder="w", expires_at=until)
    Endpoint.objects.update(probed_at=timezone.now() - timedelta(seconds=probed_s))
    assert due().exists() is is_due
