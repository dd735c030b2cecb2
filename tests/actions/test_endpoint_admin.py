"""Endpoints in Django's admin: a checked address, a key that is never shown, a probe after a move."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from labs.actions.probe import fits
from labs.models import Endpoint, Pool

ADD = "/admin/labs/endpoint/add/"


@pytest.fixture
def admin(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("admin"))
    return client


def post(admin: Client, path: str, **fields: str) -> str:
    data = {
        "name": "a",
        "base_url": "http://127.0.0.1:8080",
        "log_path": "",
        "new_key": "",
        "pool": "",
        "canary_runs-TOTAL_FORMS": "0",
        "canary_runs-INITIAL_FORMS": "0",
    } | fields
    return admin.post(path, data, follow=True).content.decode()


def change(endpoint: Endpoint) -> str:
    return f"/admin/labs/endpoint/{endpoint.pk}/change/"


def test_an_address_is_stored_normalised_and_with_its_lease(admin: Client) -> None:
    post(admin, ADD, base_url="http://LOCALHOST:8080/", log_path="/var/log/llama/server.log")
    endpoint = Endpoint.objects.get()
    assert (endpoint.base_url, endpoint.lease.token) == ("http://127.0.0.1:8080", 0)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "http://169.254.169.254/", "http://user:pw@127.0.0.1/"])
def test_an_address_we_do_not_call_is_refused(admin: Client, url: str) -> None:
    assert "errorlist" in post(admin, ADD, base_url=url)
    assert not Endpoint.objects.exists()


def test_one_server_is_entered_once(admin: Client) -> None:
    post(admin, ADD)
    assert "already exists" in post(admin, ADD, name="b", base_url="http://localhost:8080/")
    assert Endpoint.objects.count() == 1


def test_the_key_is_kept_and_never_shown(admin: Client) -> None:
    post(admin, ADD, new_key="s3cret-key")
    endpoint = Endpoint.objects.get()
    assert endpoint.api_key == "s3cret-key"
    assert "s3cret-key" not in admin.get(change(endpoint)).content.decode()
    post(admin, change(endpoint), name="b")
    endpoint.refresh_from_db()
    assert (endpoint.name, endpoint.api_key) == ("b", "s3cret-key")


def test_a_move_is_probed_anew_and_a_new_name_is_not(admin: Client) -> None:
    endpoint = Endpoint.objects.create(
        name="a", base_url="http://127.0.0.1:8080", state=Endpoint.State.UP, facts={"build": "b1"}
    )
    post(admin, change(endpoint), name="b")
    endpoint.refresh_from_db()
    assert (endpoint.name, endpoint.state) == ("b", Endpoint.State.UP)
    post(admin, change(endpoint), base_url="http://127.0.0.1:8081")
    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.facts) == (Endpoint.State.UNKNOWN, {})


def test_what_a_worker_found_while_the_form_was_saved_stays(
    admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = Endpoint.objects.create(name="a", base_url="http://127.0.0.1:8080")
    save = Endpoint.save

    def a_moment_later(self: Endpoint, *args: Any, **kwargs: Any) -> None:
        Endpoint.objects.filter(pk=self.pk).update(state=Endpoint.State.RESTING, failures=3)
        save(self, *args, **kwargs)

    monkeypatch.setattr(Endpoint, "save", a_moment_later)
    post(admin, change(endpoint), name="b", new_key="s3cret")
    endpoint.refresh_from_db()
    assert (endpoint.name, endpoint.api_key) == ("b", "s3cret")
    assert (endpoint.state, endpoint.failures) == (Endpoint.State.RESTING, 3)


def act(admin: Client, action: str, *endpoints: Endpoint) -> None:
    data = {"action": action, "_selected_action": [endpoint.pk for endpoint in endpoints]}
    answer = admin.post("/admin/labs/endpoint/", data, follow=True)
    assert "Done for" in answer.content.decode()


def test_pausing_and_letting_back_in(admin: Client) -> None:
    endpoint = Endpoint.objects.create(
        name="a", base_url="http://127.0.0.1:8080", state=Endpoint.State.UP, failures=2
    )
    act(admin, "pause", endpoint)
    endpoint.refresh_from_db()
    assert endpoint.state == Endpoint.State.PAUSED
    act(admin, "resume", endpoint)
    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.failures, endpoint.canaries_wanted) == ("unknown", 0, True)


def test_an_accepted_build_is_its_pools_and_the_others_are_asked_again(admin: Client) -> None:
    pool = Pool.objects.create(name="class", fingerprint="old")
    now = "2026-11-29T10:00:00Z"
    new = Endpoint.objects.create(
        name="a",
        base_url="http://127.0.0.1:1",
        pool=pool,
        fingerprint="new",
        state="quarantined",
        probed_at=now,
    )
    other = Endpoint.objects.create(
        name="b", base_url="http://127.0.0.1:2", pool=pool, fingerprint="old", state="up", probed_at=now
    )
    act(admin, "accept", new)
    assert fits(pool, "new")
    assert not fits(pool, "old")
    other.refresh_from_db()
    assert other.probed_at is None


def test_a_server_without_a_pool_has_nothing_to_accept(admin: Client) -> None:
    alone = Endpoint.objects.create(name="a", base_url="http://127.0.0.1:1", fingerprint="new")
    act(admin, "accept", alone)
    assert not Pool.objects.exists()
