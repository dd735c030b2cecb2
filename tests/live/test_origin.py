"""Which pages may open a socket (labs.live.origin has the table)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings
from websockets.exceptions import InvalidStatus

from labs.live.origin import is_same_origin
from labs.models import Attempt
from tests.live.sockets import Site

LogIn = Callable[[User], Client]


def test_the_own_page_is_let_in(site: Site, attempt: Attempt, owner: User, log_in: LogIn) -> None:
    with site.open(log_in(owner), attempt.pk, origin=site.daphne.origin) as socket:
        assert socket.next()["kind"] == "state"


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", None])
def test_any_other_page_is_refused_before_any_data(
    site: Site, attempt: Attempt, owner: User, log_in: LogIn, origin: str | None
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        site.open(log_in(owner), attempt.pk, origin=origin)
    assert refused.value.response.status_code == 403


def scope(origin: str | None, host: str | None = "lab.example", **more: Any) -> dict[str, Any]:
    headers = [(b"origin", origin.encode())] if origin is not None else []
    headers += [(b"host", host.encode())] if host is not None else []
    return {"type": "websocket", "headers": headers + more.pop("headers", []), **more}


@pytest.mark.parametrize(
    ("case", "allowed"),
    [
        (scope("http://lab.example"), True),
        (scope("http://LAB.example:80"), True),
        (scope("http://lab.example:8000", "lab.example:8000"), True),
        (scope("http://[::1]:8000", "[::1]:8000"), True),
        (scope("https://lab.example", scheme="wss"), True),
        (scope("https://trusted.example"), True),
        (scope("https://lab.example"), False),
        (scope("http://lab.example", scheme="wss"), False),
        (scope("http://lab.example:81"), False),
        (scope("http://lab.example.evil.example"), False),
        (scope("http://evil.example/lab.example"), False),
        (scope("http://lab.example@evil.example"), False),
        (scope("http://lab.example:port"), False),
        (scope("http://trusted.example"), False),
        (scope("null"), False),
        (scope(""), False),
        (scope(None), False),
        (scope("http://lab.example", None), False),
        # Rebinding: the page and the request agree on a host that is not ours.
        (scope("http://evil.example", "evil.example"), False),
        (scope("http://lab.example", headers=[(b"origin", b"http://evil.example")]), False),
    ],
)
def test_the_table_of_origins(settings: Settings, case: dict[str, Any], allowed: bool) -> None:
    settings.ALLOWED_HOSTS = ["lab.example", "[::1]"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://trusted.example"]
    assert is_same_origin(case) is allowed


@pytest.mark.parametrize(
    ("origin", "forwarded", "allowed"),
    [
        ("https://lab.example", [b"https"], True),
        ("http://lab.example", [b"https"], False),
        ("https://lab.example", [b"http"], False),
        ("https://lab.example", [], False),
        ("https://lab.example", [b"https", b"http"], False),
    ],
)
def test_behind_a_proxy_the_proxy_tells_the_scheme(
    settings: Settings, origin: str, forwarded: list[bytes], allowed: bool
) -> None:
    settings.ALLOWED_HOSTS = ["lab.example"]
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    headers = [(b"x-forwarded-proto", value) for value in forwarded]
    assert is_same_origin(scope(origin, headers=headers)) is allowed
