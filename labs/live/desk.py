"""What sockets are told first. A class that comes at once is hundreds of sockets, and the places of a whole queue cost
the same for one as for all: those that come while a question is under way share the next one."""

from __future__ import annotations

import asyncio
from uuid import UUID

from channels.db import database_sync_to_async

from labs.live.status import Status, statuses


class StatusDesk:
    """Of one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[UUID, asyncio.Future[Status | None]] = {}
        self._answering: asyncio.Task[None] | None = None

    async def ask(self, attempt_id: UUID) -> Status | None:
        """None: there is no such attempt any more. Raises what the database raises."""
        loop = asyncio.get_running_loop()
        answer = self._waiting.setdefault(attempt_id, loop.create_future())
        if self._answering is None or self._answering.done():
            self._answering = loop.create_task(self._answer())
        return await asyncio.shield(answer)  # others may wait for it too

    async def _answer(self) -> None:
        while self._waiting:
            asked, self._waiting = self._waiting, {}
            try:
                found = await database_sync_to_async(statuses, thread_sensitive=False)(list(asked))
            except Exception as error:
                for answer in asked.values():
                    answer.set_exception(error)
                    answer.exception()  # whoever asked may be gone
            else:
                for attempt_id, answer in asked.items():
                    answer.set_result(found.get(attempt_id))
