"""Every address of the site, asked by everyone who must not get in. A new one fails here until it is in the table."""

from __future__ import annotations

import uuid

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from labs.models import Attempt, Course
from tests.views.routes import ALL, LEVELS, ROUTES, address

METHODS = ("get", "post", "put", "delete")


def test_every_address_says_who_gets_in() -> None:
    assert set(ALL) == set(ROUTES)
    assert set(ROUTES.values()) <= set(LEVELS)


@pytest.mark.parametrize("name", sorted(name for name, level in ROUTES.items() if level != "anyone"))
def test_who_must_not_get_in_finds_nothing(
    name: str, everyone: dict[str, Client], address_parts: dict[str, object]
) -> None:
    where = address(name, address_parts)
    for level in LEVELS[: LEVELS.index(ROUTES[name])]:
        for method in METHODS:
            answer = getattr(everyone[level], method)(where)
            if level == "anyone":
                asked_to_log_in = answer.status_code == 302 and answer["Location"].startswith(
                    reverse("login")
                )
                assert asked_to_log_in or answer.status_code in {401, 404, 405}, (name, method)
            else:
                assert answer.status_code in {404, 405}, (name, level, method, answer.status_code)
        statuses = {getattr(everyone[level], method)(where).status_code for method in METHODS}
        assert statuses != {405}, f"{name}: a method that is refused to all tells nothing of rights"


@pytest.mark.parametrize("name", sorted(set(ROUTES) - {"step-file", "set-password", "rerun-one"}))
def test_who_may_get_in_does(
    name: str, everyone: dict[str, Client], address_parts: dict[str, object]
) -> None:
    """By the method it is for: what is refused with 405 exists, and is for the other."""
    where = address(name, address_parts)
    asked = everyone[ROUTES[name]].get(where)
    assert asked.status_code != 404, name
    assert not (asked.status_code == 302 and asked["Location"].startswith(reverse("login") + "?")), name


@pytest.mark.parametrize("name", sorted(name for name, wanted in ALL.items() if "attempt_id" in wanted))
def test_an_attempt_that_is_not_there_looks_the_same(
    name: str, everyone: dict[str, Client], address_parts: dict[str, object]
) -> None:
    real, nowhere = address(name, address_parts), address(name, address_parts | {"attempt_id": uuid.uuid4()})
    for method in METHODS:
        statuses = [getattr(everyone["person"], method)(where).status_code for where in (real, nowhere)]
        assert statuses[0] == statuses[1], (name, method)


def test_djangos_tables_are_for_staff_alone(everyone: dict[str, Client]) -> None:
    for level in LEVELS[:-1]:
        answer = everyone[level].get(reverse("admin:index"))
        assert answer.status_code == 302 and "login" in answer["Location"], level
    assert everyone["admin"].get(reverse("admin:index")).status_code == 200


@pytest.mark.parametrize("name", sorted(ROUTES))
def test_nothing_changes_without_the_forms_secret(
    name: str, owner: User, address_parts: dict[str, object], course: Course
) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.create_superuser("strict"))
    answer = strict.post(address(name, address_parts))
    assert answer.status_code in {403, 404, 405}, (name, answer.status_code)
    assert Attempt.objects.filter(user=owner).count() == 1
