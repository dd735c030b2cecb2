"""Every address of the site, asked by everyone who must not get in. A new one fails here until it is in the table."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from labs.models import Attempt, Course, Enrolment, State
from labs.models.regrade import RegradeSet
from tests.views.conftest import client_of
from tests.views.rows import STEP, attempt_in

# Who gets in, from the most to the fewest. 'person': whoever is logged in; 'owner': whose attempt it is, and the
# course's instructors. Staff stand as instructors everywhere.
LEVELS = ("anyone", "person", "student", "owner", "instructor", "admin")
ROUTES = {
    "login": "anyone",
    "logout": "anyone",
    "set_language": "anyone",
    "set-password": "anyone",
    "healthz": "anyone",
    "readyz": "anyone",
    "sealed": "person",
    "view-as-end": "person",
    "home": "person",
    "join": "person",
    "step": "student",
    "step-file": "student",
    "boards": "student",
    "board-name": "student",
    "board": "student",
    "board-fragment": "student",
    "board-csv": "student",
    "board-xlsx": "student",
    "attempt": "owner",
    "attempt-cancel": "owner",
    "attempt-panel": "owner",
    "attempt-events": "owner",
    "attempt-frames": "owner",
    "attempt-replay": "owner",
    "attempt-points": "instructor",
    "board-freeze": "instructor",
    "board-projector": "instructor",
    "class-now": "instructor",
    "class-hour": "instructor",
    "people": "instructor",
    "roster": "instructor",
    "join-code": "instructor",
    "login-links": "instructor",
    "bring-back": "instructor",
    "rules": "instructor",
    "rule-step": "instructor",
    "scores-release": "instructor",
    "extensions": "instructor",
    "gradebook": "instructor",
    "gradebook-csv": "instructor",
    "gradebook-xlsx": "instructor",
    "regrades": "instructor",
    "regrade": "instructor",
    "regrade-end": "instructor",
    "regrade-step": "instructor",
    "rerun": "instructor",
    "rerun-one": "instructor",
    "view-as": "instructor",
    "audit": "admin",
    "metrics": "admin",
}
METHODS = ("get", "post", "put", "delete")


def _routes(resolver: URLResolver) -> Iterator[tuple[str, list[str]]]:
    """(name, names of its parameters) of each; Django's own tables guard themselves and are asked for apart."""
    for entry in resolver.url_patterns:
        if isinstance(entry, URLPattern):
            assert entry.name, f"{entry.pattern} has no name"
            yield entry.name, list(entry.pattern.converters)
        elif entry.namespace != "admin":
            yield from _routes(entry)


ALL = dict(_routes(get_resolver()))


@pytest.fixture
def people(owner: User, member: User, outsider: User, course: Course) -> dict[str, Client]:
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
def values(owner: User, member: User, course: Course) -> dict[str, object]:
    """What stands in an address, of things that are there."""
    return {
        "course_slug": course.slug,
        "step_key": STEP,
        "key": "ttft",
        "name": "nothing.txt",
        "uidb64": "x",
        "token": "y",
        "attempt_id": attempt_in(State.GRADED, owner, course).pk,
        "run": 1,
        "regrade_id": RegradeSet.objects.create(
            course=course, step=STEP, step_version=1, by=member, beat_at=timezone.now()
        ).pk,
    }


def address(name: str, values: dict[str, object]) -> str:
    wanted = ALL[name]
    missing = [parameter for parameter in wanted if parameter not in values]
    assert not missing, f"say in `values` what {missing} of {name} may be"
    if name in {"attempt-frames", "attempt-replay"}:
        values = values | {"key": "cold"}
    if name in {"rerun", "rerun-one"}:
        values = values | {"step_key": "read-sse"}
    return reverse(name, kwargs={parameter: values[parameter] for parameter in wanted})


def test_every_address_says_who_gets_in() -> None:
    assert set(ALL) == set(ROUTES)
    assert set(ROUTES.values()) <= set(LEVELS)


@pytest.mark.parametrize("name", sorted(name for name, level in ROUTES.items() if level != "anyone"))
def test_who_must_not_get_in_finds_nothing(
    name: str, people: dict[str, Client], values: dict[str, object]
) -> None:
    where = address(name, values)
    for level in LEVELS[: LEVELS.index(ROUTES[name])]:
        for method in METHODS:
            answer = getattr(people[level], method)(where)
            if level == "anyone":
                asked_to_log_in = answer.status_code == 302 and answer["Location"].startswith(
                    reverse("login")
                )
                assert asked_to_log_in or answer.status_code in {401, 404, 405}, (name, method)
            else:
                assert answer.status_code in {404, 405}, (name, level, method, answer.status_code)
        statuses = {getattr(people[level], method)(where).status_code for method in METHODS}
        assert statuses != {405}, f"{name}: a method that is refused to all tells nothing of rights"


@pytest.mark.parametrize("name", sorted(set(ROUTES) - {"step-file", "set-password", "rerun-one"}))
def test_who_may_get_in_does(name: str, people: dict[str, Client], values: dict[str, object]) -> None:
    """By the method it is for: what is refused with 405 exists, and is for the other."""
    where = address(name, values)
    asked = people[ROUTES[name]].get(where)
    assert asked.status_code != 404, name
    assert not (asked.status_code == 302 and asked["Location"].startswith(reverse("login") + "?")), name


@pytest.mark.parametrize("name", sorted(name for name, wanted in ALL.items() if "attempt_id" in wanted))
def test_an_attempt_that_is_not_there_looks_the_same(
    name: str, people: dict[str, Client], values: dict[str, object]
) -> None:
    real, nowhere = address(name, values), address(name, values | {"attempt_id": uuid.uuid4()})
    for method in METHODS:
        statuses = [getattr(people["person"], method)(where).status_code for where in (real, nowhere)]
        assert statuses[0] == statuses[1], (name, method)


def test_djangos_tables_are_for_staff_alone(people: dict[str, Client]) -> None:
    for level in LEVELS[:-1]:
        answer = people[level].get(reverse("admin:index"))
        assert answer.status_code == 302 and "login" in answer["Location"], level
    assert people["admin"].get(reverse("admin:index")).status_code == 200


@pytest.mark.parametrize("name", sorted(ROUTES))
def test_nothing_changes_without_the_forms_secret(
    name: str, owner: User, values: dict[str, object], course: Course
) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.create_superuser("strict"))
    answer = strict.post(address(name, values))
    assert answer.status_code in {403, 404, 405}, (name, answer.status_code)
    assert Attempt.objects.filter(user=owner).count() == 1
