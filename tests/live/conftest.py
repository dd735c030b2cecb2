from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from labs.models import Attempt, Course, Endpoint, Enrolment, Role, Run, State
from tests.live.servers import Daphne, Valkey
from tests.live.sockets import Site

LOGIN = "django.contrib.auth.backends.ModelBackend"


def database_url() -> str:
    """The tests' own database, for another process."""
    own = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite://{own['NAME']}"
    who = f"{quote(own['USER'])}:{quote(own['PASSWORD'])}" if own["PASSWORD"] else quote(own["USER"])
    return f"postgresql://{who}@{own['HOST']}:{own['PORT']}/{own['NAME']}"


def live_settings(valkey: Valkey) -> dict[str, str]:
    """For a daphne on the tests' database, with an impatient hub."""
    return {
        "DJANGO_SETTINGS_MODULE": "labhub_voice.settings",
        "DATABASE_URL": database_url(),
        "REDIS_URL": valkey.url,
        "LABHUB_LIVE_STATE_S": "0.4",
        "LABHUB_LIVE_RIGHTS_S": "0.5",
        "LABHUB_LIVE_PING_S": "0.5",
        "LABHUB_LIVE_SLOW_S": "60",
    }


@pytest.fixture(scope="session")
def daphne_server(
    django_db_setup: None, valkey_server: Valkey, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Daphne]:
    with Daphne(tmp_path_factory.mktemp("daphne"), live_settings(valkey_server)) as server:
        yield server


@pytest.fixture
def site(transactional_db: None, valkey: Valkey, daphne_server: Daphne) -> Site:
    return Site(daphne_server)


@pytest.fixture
def own_valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    """One to freeze and to kill."""
    with Valkey(tmp_path_factory.mktemp("own-valkey")) as server:
        yield server


@pytest.fixture
def own_site(
    transactional_db: None, own_valkey: Valkey, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    settings = live_settings(own_valkey) | {"LABHUB_LIVE_SLOW_S": "1"}
    with Daphne(tmp_path_factory.mktemp("own-daphne"), settings) as server:
        yield Site(server)


@pytest.fixture
def course(db: None) -> Course:
    return Course.objects.create(slug="voice", title="Voice")


@pytest.fixture
def enrol(course: Course) -> Callable[..., User]:
    def enrol(name: str, role: Role = Role.STUDENT) -> User:
        user = User.objects.create_user(name)
        Enrolment.objects.create(user=user, course=course, role=role)
        return user

    return enrol


@pytest.fixture
def owner(enrol: Callable[..., User]) -> User:
    return enrol("owner")


@pytest.fixture
def teacher(enrol: Callable[..., User]) -> User:
    return enrol("teacher", Role.INSTRUCTOR)


@pytest.fixture
def outsider(enrol: Callable[..., User]) -> User:
    """A classmate: in the course, but it is not their attempt."""
    return enrol("outsider")


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    return Endpoint.objects.create(name="a", base_url="http://127.0.0.1:1", state=Endpoint.State.UP)


@pytest.fixture
def new_attempt(course: Course) -> Callable[..., Attempt]:
    def new_attempt(user: User, state: State = State.RUNNING, **fields: object) -> Attempt:
        now = timezone.now()
        defaults = {"queued_at": now, "changed_at": now, "step": "first-token", "step_version": 1}
        return Attempt.objects.create(
            course=course, user=user, state=state, seed_number=0, **{**defaults, **fields}
        )

    return new_attempt


@pytest.fixture
def attempt(owner: User, new_attempt: Callable[..., Attempt]) -> Attempt:
    return new_attempt(owner)


@pytest.fixture
def ran(attempt: Attempt, endpoint: Endpoint) -> Run:
    """The run that the topic tells of: its number is what the hub waits for before it tells the end."""
    row = attempt.rounds.create(number=1, key="r1", submit_key=uuid.uuid4(), challenge={}, answers={})
    return attempt.runs.create(
        round=row, number=1, endpoint=endpoint, token=1, worker="w", started_at=timezone.now()
    )


@pytest.fixture
def log_in() -> Callable[[User], Client]:
    def log_in(user: User) -> Client:
        client = Client()
        client.force_login(user, LOGIN)
        return client

    return log_in
