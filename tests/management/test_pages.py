"""The handler of pages: few at once, in one thread each, and the sign of life before all."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.urls import reverse

from labhub_voice.pages import PagesHandler


@pytest.fixture
def handler(monkeypatch: pytest.MonkeyPatch) -> PagesHandler:
    return PagesHandler(room=2)


@pytest.mark.parametrize(
    ("slow_path", "passes"),
    [
        ("/slow", "/healthz"),
        ("/slow", reverse("endpoint", args=[1])),
        ("/slow", "/login/school/back/"),
        (reverse("endpoint", args=[1]), "/"),
    ],
)
async def test_two_at_once_and_who_has_a_room_apart_passes_by(
    handler: PagesHandler, monkeypatch: pytest.MonkeyPatch, slow_path: str, passes: str
) -> None:
    go_on, seen = threading.Event(), []
    both = threading.Barrier(3)

    def get_response(request: HttpRequest) -> HttpResponse:
        seen.append(request.path_info)
        if request.path_info == slow_path and len(seen) <= 2:
            both.wait(10)
            go_on.wait(10)
        return HttpResponse()

    monkeypatch.setattr(handler, "get_response", get_response)

    async def ask(path: str) -> Any:
        from asgiref.sync import ThreadSensitiveContext

        async with ThreadSensitiveContext():
            return await handler.get_response_async(RequestFactory().get(path))

    slow = [asyncio.create_task(ask(slow_path)) for _ in range(3)]
    await asyncio.to_thread(both.wait, 10)
    assert (await ask(passes)).status_code == 200
    assert seen == [slow_path, slow_path, passes]
    go_on.set()
    await asyncio.gather(*slow)
    assert seen.count(slow_path) == 3


def test_the_whole_chain_of_middlewares_is_plain_functions(handler: PagesHandler) -> None:
    """One of them that wanted the event loop would send every page back and forth."""
    assert not asyncio.iscoroutinefunction(handler._middleware_chain)
    assert not any(asyncio.iscoroutinefunction(one) for one in handler._view_middleware)
