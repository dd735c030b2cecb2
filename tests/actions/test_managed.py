"""Starting and stopping the embedded server: only when nothing runs there, and only as it can be."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from labs.actions.console import pause_now
from labs.actions.errors import Refused
from labs.actions.managed import ask_for, models, said_of
from labs.llama.wanted import Said, Wanted
from labs.models import AuditRow, Endpoint, Lease

URL = "http://127.0.0.1:7"


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Path:
    settings.STATE_DIR = tmp_path
    Said(0, 1, "started", URL, str(models()[0]), 2, 2, 8192, 128, ("--port", "7")).write(tmp_path / "llama")
    return tmp_path / "llama"


@pytest.fixture
def own(folder: Path, db: None) -> Endpoint:
    return Endpoint.objects.create(
        name="own", base_url=URL, state=Endpoint.State.PAUSED, facts={"build": "b"}
    )


@pytest.fixture
def admin(db: None) -> User:
    return User.objects.create_superuser("root")


def wish(**more: int | str) -> Wanted:
    fields: dict[str, int | str] = {"model": str(models()[0]), "slots": 3, "ctx": 6144, "batch": 64, **more}
    return Wanted(**fields)  # type: ignore[arg-type]


def test_a_wish_is_written_down_for_who_keeps_the_server(
    own: Endpoint,
    folder: Path,
    admin: User,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    for number in (1, 2):
        with django_capture_on_commit_callbacks(execute=True):
            ask_for(own, wish(threads=1), admin)
        assert Wanted.read(folder) == Wanted(number, True, str(models()[0]), 1, 3, 6144, 64)
    own.refresh_from_db()
    assert own.facts == {"build": "b", "batch": 64, "threads": 1}
    with django_capture_on_commit_callbacks(execute=True):
        ask_for(own, Wanted(runs=False), admin)
    assert (Wanted.read(folder).number, Wanted.read(folder).runs) == (3, False)
    assert [row.what for row in AuditRow.objects.order_by("pk")] == ["start own", "start own", "stop own"]


def refused(own: Endpoint, wanted: Wanted, admin: User, sentence: str) -> None:
    with transaction.atomic(), pytest.raises(Refused, match=sentence):
        ask_for(own, wanted, admin)
    assert not AuditRow.objects.exists()


def test_not_while_it_is_in_use(own: Endpoint, folder: Path, admin: User) -> None:
    Lease.objects.filter(endpoint=own).update(holder="w", expires_at=timezone.now() + timedelta(seconds=9))
    refused(own, wish(), admin, "Drain it first")
    Lease.objects.update(holder="", expires_at=None)
    Endpoint.objects.update(state=Endpoint.State.UP)
    refused(own, wish(), admin, "Drain it first")
    assert Wanted.read(folder) == Wanted()


def test_a_claim_that_saw_the_server_up_comes_too_late(
    own: Endpoint,
    folder: Path,
    admin: User,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    """A worker claims by the token that it saw; drained and started meanwhile, the server has another."""
    before = Lease.objects.get(endpoint=own).token
    with django_capture_on_commit_callbacks(execute=True):
        ask_for(own, wish(), admin)
    started = Lease.objects.get(endpoint=own)
    assert (started.token, started.holder) == (before + 1, "")
    pause_now(own, "", admin)
    assert Lease.objects.get(endpoint=own).token == before + 2


def test_not_what_would_not_start_or_is_not_ours(own: Endpoint, folder: Path, admin: User) -> None:
    refused(own, wish(ctx=1_000_000_000), admin, "It would not start: .* more memory")
    refused(own, wish(model="/etc/passwd"), admin, "not one of those")
    stranger = Endpoint.objects.create(name="s", base_url="http://127.0.0.1:8", state=Endpoint.State.PAUSED)
    assert said_of(stranger) is None
    refused(stranger, wish(), admin, "did not start that server")


def test_the_page_shows_the_flags_and_takes_the_wish(
    own: Endpoint,
    folder: Path,
    admin: User,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    client = Client(headers={"accept-language": "en"})
    client.force_login(admin)
    page = client.get(reverse("endpoint", args=[own.pk])).content.decode()
    assert "llama-server --port 7" in page and "Start it so" in page
    where = reverse("endpoint-server", args=[own.pk])
    entered = {"model": str(models()[0]), "threads": "0", "slots": "1", "ctx": "4096", "batch": "128"}
    assert client.post(where, entered | {"batch": "1"}).status_code == 422
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(where, entered).status_code == 302
    assert Wanted.read(folder).slots == 1
    Endpoint.objects.update(state=Endpoint.State.UP)
    answer = client.post(where, {"do": "stop"})
    assert answer.status_code == 422 and "Drain it first" in answer.content.decode()
    assert "drain it first." in client.get(reverse("endpoint", args=[own.pk])).content.decode()
