"""What tests of several packages share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.db.models.signals import post_migrate
from pytest_django import Settings

from labs.llama.process import EmbeddedServer
from labs.models import Course, Enrolment, Role
from tests.lines import Lines
from tests.live.servers import Valkey
from tests.system.site import Site


@pytest.fixture(scope="session")
def llama_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """One real llama-server for the whole session: the small model, 2 slots, the lab's flags."""
    with EmbeddedServer(tmp_path_factory.mktemp("llama")) as server:
        yield server


@pytest.fixture(scope="session")
def valkey_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    with Valkey(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture
def valkey(valkey_server: Valkey, settings: Settings) -> Valkey:
    """A real Valkey, empty, and the one that REDIS_URL names."""
    with valkey_server.client() as client:
        client.flushall()
    settings.REDIS_URL = valkey_server.url
    return valkey_server


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """All that `scripts/run` starts, for the system and browser tests. What a drill waits for happens in seconds."""
    quick = {"LABHUB_BEAT_S": "1", "LABHUB_LEASE_S": "4", "LABHUB_SWEEP_S": "1"}
    running = Site(tmp_path_factory.mktemp("site"), quick)
    try:
        running.start()
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="session", autouse=True)
def no_permissions_anew() -> None:
    """Nobody here has rights by Django's permissions, and making them takes longer than emptying the tables."""
    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")


@pytest.fixture(scope="session", autouse=True)
def patient_flush() -> None:
    """On Postgres emptying the tables may meet a question of a test's own daphne half-way; one of them then has to
    try again, and it is us."""
    ops = connection.ops
    flush = ops.execute_sql_flush

    def again(sql_list: list[str]) -> None:
        for left in reversed(range(5)):
            try:
                return flush(sql_list)
            except OperationalError as error:
                if "deadlock" not in str(error) or not left:
                    raise
        return None

    ops.execute_sql_flush = again  # type: ignore[method-assign,assignment]


@pytest.fixture
def lines() -> Iterator[Lines]:
    with Lines() as handler:
        yield handler


@pytest.fixture
def course(db: None) -> Course:
    return Course.objects.create(slug="voice", title="Voice lab", language="ko")


@pytest.fixture
def owner(course: Course) -> User:
    """Who the attempt belongs to."""
    user = User.objects.create_user("owner", password="owner-password")
    Enrolment.objects.create(user=user, course=course)
    return user


@pytest.fixture
def member(course: Course) -> User:
    """Who may look: the course's instructor."""
    user = User.objects.create_user("member", password="member-password")
    Enrolment.objects.create(user=user, course=course, role=Role.INSTRUCTOR)
    return user


@pytest.fixture
def outsider(course: Course) -> User:
    """Who must not: a student of another course."""
    user = User.objects.create_user("outsider", password="outsider-password")
    Enrolment.objects.create(user=user, course=Course.objects.create(slug="other", title="Other"))
    return user
