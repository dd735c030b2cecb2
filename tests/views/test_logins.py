"""Guessing a password is slowed down, for the name at this address alone."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

pytestmark = pytest.mark.django_db
RIGHT, WRONG = "owner-password", "guess"


def log_in(password: str, address: str = "127.0.0.1", name: str = "owner") -> int:
    client = Client(REMOTE_ADDR=address)
    return client.post(reverse("login"), {"username": name, "password": password}).status_code


def test_the_sixth_wrong_password_waits(owner: User) -> None:
    assert [log_in(WRONG) for _ in range(4)] == [200] * 4
    assert log_in(WRONG) == 429
    assert log_in(RIGHT) == 429, "also the right one, or guessing would go on unseen"
    assert log_in(RIGHT, address="127.0.0.2") == 302, "its owner gets in from elsewhere"


def test_a_right_password_clears_the_count(owner: User) -> None:
    for _ in range(2):
        assert [log_in(WRONG) for _ in range(4)] == [200] * 4
        assert log_in(RIGHT) == 302


def test_an_account_that_is_not_there_looks_the_same(owner: User) -> None:
    pages = [
        Client(REMOTE_ADDR="127.0.0.3").post(reverse("login"), {"username": name, "password": WRONG})
        for name in ("owner", "nobody")
    ]
    assert [page.status_code for page in pages] == [200, 200]
    assert "owner" not in pages[1].content.decode()
