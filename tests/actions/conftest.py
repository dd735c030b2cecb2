from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import User

from labs.actions import wake
from labs.actions.submit import submit
from labs.models import Attempt, Course, Endpoint, Enrolment
from labs.steps import all_steps
from tests.actions.toy import ToyStep
from tests.measure.scripted import ScriptedLlama

Submit = Callable[..., Attempt]


@pytest.fixture(autouse=True)
def toy_step() -> Iterator[ToyStep]:
    step = ToyStep()
    all_steps()[step.key] = step
    yield step
    del all_steps()[step.key]


@pytest.fixture(autouse=True)
def woken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No broker here: wake-ups are only counted."""
    names: list[str] = []
    monkeypatch.setattr(wake, "wake", lambda task: names.append(task.name) is None)
    return names


@pytest.fixture
def course(db: None) -> Course:
    return Course.objects.create(slug="voice", title="Voice", attempts_per_step=3)


@pytest.fixture
def kim(course: Course) -> User:
    user = User.objects.create_user("kim")
    Enrolment.objects.create(user=user, course=course)
    return user


@pytest.fixture
def lee(course: Course) -> User:
    user = User.objects.create_user("lee")
    Enrolment.objects.create(user=user, course=course)
    return user


@pytest.fixture
def llama() -> Iterator[ScriptedLlama]:
    with ScriptedLlama() as server:
        yield server


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    return Endpoint.objects.create(name="a", base_url="http://127.0.0.1:1", state=Endpoint.State.UP)


@pytest.fixture
def post(course: Course, toy_step: ToyStep) -> Submit:
    """post(user, 'one') submits a round and gives the attempt."""

    def do(user: User, round_key: str = "one", say: str = "hello", key: uuid.UUID | None = None) -> Attempt:
        return submit(user, course, toy_step, round_key, {"say": say}, key or uuid.uuid4())

    return do
