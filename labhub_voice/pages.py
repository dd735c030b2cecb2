"""Django's pages under ASGI: each in one thread from its first middleware to its last, and few of them at once.

Django itself goes back and forth between the event loop and the thread where a middleware is not written for both, as
ours are not; and it begins as many pages as are asked for. Under a class that comes all at once a hundred threads then
share the interpreter with the loop that passes the tokens on: measured, a token was seconds late (docs/load.md).
"""

from __future__ import annotations

import asyncio

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

# Asks nobody, and must be answered while everybody else waits: else a busy process is taken for a dead one.
AT_ONCE = frozenset({"/healthz"})
# Pages that may wait for another machine: a school's login, a model server. They take no room from the class.
ASK_ELSEWHERE = ("/endpoints/", "/login/school/")


class PagesHandler(ASGIHandler):
    """`room`: pages that are worked on at once, and as many again that ask elsewhere. Who comes later waits in the
    order of coming, at no cost."""

    def __init__(self, room: int | None = None) -> None:
        super().__init__()
        self.load_middleware(is_async=False)
        room = room or settings.LABHUB_WEB_THREADS
        self._room, self._room_elsewhere = asyncio.Semaphore(room), asyncio.Semaphore(room)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info in AT_ONCE:
            return await self._in_one_thread(request)
        is_elsewhere = request.path_info.startswith(ASK_ELSEWHERE)
        async with self._room_elsewhere if is_elsewhere else self._room:
            return await self._in_one_thread(request)

    async def _in_one_thread(self, request: HttpRequest) -> HttpResponseBase:
        return await sync_to_async(self.get_response, thread_sensitive=True)(request)
