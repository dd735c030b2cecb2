"""Alive, ready, and the figures: who may read them, and what they say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from labs.metrics import database, ready, share
from labs.metrics.own import DRIVE, EVERY, SWEEP, SWEEP_AT, WEB
from labs.metrics.share import Said
from labs.models import Attempt, Course, Endpoint, State
from tests.live.servers import Valkey
from tests.views.rows import attempt_in

TOKEN = "a-token-that-is-long-enough"
NOBODY_THERE = "redis://127.0.0.1:1/0"


@pytest.fixture(autouse=True)
def not_yet_looked() -> Iterator[None]:
    ready._migrated.clear()
    yield
    ready._migrated.clear()


@pytest.fixture
def scrape(settings: Settings, client: Client) -> Iterator[object]:
    settings.LABHUB_METRICS_TOKEN = TOKEN

    def get() -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        answer = client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 200
        assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(answer.content.decode())
            for sample in family.samples
        }

    yield get


def value(found: dict[tuple[str, frozenset[tuple[str, str]]], float], name: str, **labels: str) -> float:
    [one] = [v for (n, has), v in found.items() if n == name and labels.items() <= dict(has).items()]
    return one


def test_alive_asks_nothing(client: Client, settings: Settings) -> None:
    settings.REDIS_URL = NOBODY_THERE
    assert client.get("/healthz").content == b"ok\n"  # no database in this test: it would refuse


@pytest.mark.django_db
def test_ready_says_what_is_missing(
    client: Client, settings: Settings, valkey: Valkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = client.get("/readyz")
    assert (answer.status_code, answer.content) == (200, b"ready\n")
    settings.REDIS_URL = "redis://:hunter2hunter2@127.0.0.1:1/0"
    answer = client.get("/readyz")
    assert (answer.status_code, answer.content) == (200, b"ready\nredis: missing, live updates pause\n")
    monkeypatch.setattr(ready, "database_answers", lambda: False)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.content) == (503, b"database: missing\n")


@pytest.mark.django_db
def test_a_migration_that_is_not_applied_makes_it_unready(client: Client, settings: Settings) -> None:
    from django.db.migrations.recorder import MigrationRecorder

    settings.REDIS_URL = NOBODY_THERE
    newest = MigrationRecorder.Migration.objects.filter(app="labs").latest("pk")
    newest.delete()
    answer = client.get("/readyz")
    assert (answer.status_code, answer.content) == (503, b"migrations: missing\n")
    newest.save()
    assert client.get("/readyz").status_code == 200


@pytest.mark.django_db
def test_the_figures_are_there_for_staff_and_for_who_brings_the_token(
    client: Client, settings: Settings, outsider: User, member: User, valkey: Valkey
) -> None:
    def code(authorization: str = "") -> int:
        return client.get("/metrics", headers={"authorization": authorization}).status_code

    assert code() == code("Bearer ") == code(f"Bearer {TOKEN}") == 404, "no token is set"
    settings.LABHUB_METRICS_TOKEN = TOKEN
    assert code() == code(f"Bearer {TOKEN}x") == code(TOKEN) == 404
    assert code(f"Bearer {TOKEN}") == 200
    for person, status in ((outsider, 404), (member, 404)):
        client.force_login(person)
        assert code() == status
    client.force_login(User.objects.create_user("admin", is_staff=True))
    assert code() == 200


def test_queue_endpoints_and_verdicts(scrape, owner: User, course: Course, valkey: Valkey) -> None:  # type: ignore[no-untyped-def]
    attempt_in(State.GRADED, owner, course)
    attempt_in(State.GRADED, owner, course, kind="fail")
    attempt_in(State.QUEUED, owner, course, step_key="prefill", rounds=1)
    Attempt.objects.filter(state=State.QUEUED).update(queued_at=timezone.now() - timedelta(seconds=90))
    Endpoint.objects.create(name="ep-b", base_url="http://127.0.0.1:2", state=Endpoint.State.UP)
    found = scrape()
    assert value(found, "labhub_attempts", state="queued") == 1
    assert 90 <= value(found, "labhub_queue_age_seconds") < 120
    assert value(found, "labhub_endpoint_state", endpoint="ep-b", state="up") == 1
    assert value(found, "labhub_endpoint_state", endpoint="ep-b", state="down") == 0
    assert value(found, "labhub_recent_grades", verdict="pass") == 1
    assert value(found, "labhub_recent_grades", verdict="fail") == 1
    assert value(found, "labhub_recent_runs", outcome="recorded") > 1
    assert value(found, "labhub_disturbed_ratio") == 0
    assert value(found, "labhub_database_up") == value(found, "labhub_redis_up") == 1


def test_every_process_is_in_it_and_the_dead_are_forgotten(scrape, db: None, valkey: Valkey) -> None:  # type: ignore[no-untyped-def]
    SWEEP_AT.set(1234)
    said = share.said_now("sweep")
    with valkey.client() as client:
        share.write(client, Said("other:7", "sweep", said.at_s, said.families))
        share.write(client, Said("gone:8", "drive", said.at_s - 3600, said.families))
        found = scrape()
        processes = {dict(labels).get("process") for _, labels in found} - {None}
        assert processes == {"other:7", share.name_of_this()}
        assert value(found, "labhub_sweep_last_pass_timestamp_seconds", role="sweep") == 1234
        assert client.hkeys(share.KEY) == [b"other:7"]


def test_without_redis_and_database_it_still_answers(  # type: ignore[no-untyped-def]
    scrape, db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REDIS_URL = NOBODY_THERE

    def away() -> None:
        raise DatabaseError

    monkeypatch.setattr(database, "families", away)
    found = scrape()
    assert value(found, "labhub_database_up") == value(found, "labhub_redis_up") == 0
    assert value(found, "process_resident_memory_bytes") > 1e6


@pytest.mark.django_db
def test_asking_costs_a_few_queries_however_much_there_is(
    owner: User, course: Course, django_assert_num_queries: object
) -> None:
    for step in ("prefill", "cache-reuse", "cache-break"):
        attempt_in(State.GRADED, owner, course, step_key=step)
    with django_assert_num_queries(7):  # type: ignore[operator]
        list(database.families())


def test_no_name_twice_in_the_registry() -> None:
    names = [family.name for registry in (EVERY, WEB, DRIVE, SWEEP) for family in registry.collect()]
    assert len(names) == len(set(names)) > 10
