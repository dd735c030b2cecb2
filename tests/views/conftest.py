from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from labs.models import Attempt, Course, DemoRun, Endpoint, Enrolment, State
from labs.models.regrade import RegradeSet
from tests.views.rows import STEP, attempt_in


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


@pytest.fixture
def everyone(owner: User, member: User, outsider: User, course: Course) -> dict[str, Client]:
    """One of each level, and who stands beside them: nobody of these is staff but the admin."""
    classmate = User.objects.create_user("classmate")
    Enrolment.objects.create(user=classmate, course=course)
    return {
        "anyone": Client(),
        "person": client_of(outsider),
        "student": client_of(classmate),
        "owner": client_of(owner),
        "instructor": client_of(member),
        "admin": client_of(User.objects.create_superuser("root")),
    }


@pytest.fixture
def address_parts(owner: User, member: User, course: Course) -> dict[str, object]:
    """What stands in an address, of things that are there."""
    attempt = attempt_in(State.GRADED, owner, course)
    DemoRun.objects.create(course=course, step=STEP, run=attempt.runs.get(number=1))
    return {
        "course_slug": course.slug,
        "step_key": STEP,
        "key": "ttft",
        "name": "nothing.txt",
        "uidb64": "x",
        "token": "y",
        "attempt_id": attempt.pk,
        "number": 1,
        "run": 1,
        "endpoint_id": Endpoint.objects.create(name="there", base_url="http://127.0.0.1:9").pk,
        "regrade_id": RegradeSet.objects.create(
            course=course, step=STEP, step_version=1, by=member, beat_at=timezone.now()
        ).pk,
    }
