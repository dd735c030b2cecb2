from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from labs.models import Attempt, Course, State
from tests.views.rows import attempt_in


@pytest.fixture
def attempt(owner: User, course: Course) -> Attempt:
    return attempt_in(State.GRADED, owner, course)


@pytest.fixture
def at_owner(owner: User) -> Client:
    return client_of(owner)


@pytest.fixture
def at_member(member: User) -> Client:
    return client_of(member)


@pytest.fixture
def at_outsider(outsider: User) -> Client:
    return client_of(outsider)


def client_of(user: User) -> Client:
    client = Client(headers={"accept-language": "en"})
    client.force_login(user)
    return client
