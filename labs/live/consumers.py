"""The socket of one attempt: let in once, then the hub's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from labs.access import attempt_for
from labs.actions.errors import NotFound
from labs.live.events import EventId
from labs.live.follower import Claim, Follower
from labs.live.hub import hub
from labs.live.outbox import outbox_for
from labs.live.rights import LOGGED_OUT, NOT_FOUND
from labs.live.seer import Seer, seer_of
from labs.metrics.own import SOCKETS
from labs.models import Attempt

TOO_TALKATIVE = 4008
WORDS_ALLOWED = 50


class AttemptConsumer(AsyncWebsocketConsumer):
    """`ws/attempts/<uuid>/?after=<run>.<seq>`: a `state`, then the events after `after`, and news as it comes.

    Closes with 4401 (log in), 4404 (no such attempt, or not yours), 4403 (no longer enrolled), 4013 or without
    a code (come back and resume), 4008 (it talks: clients have nothing to say). `ping` comes every ten seconds.
    """

    follower: Follower | None = None
    words = 0

    async def connect(self) -> None:
        outbox = outbox_for(self.scope.get("labhub.send", self.base_send))
        await self.accept()  # a code for the page needs an open socket
        user = self.scope["user"]
        if user.is_anonymous:
            await self.close(LOGGED_OUT)
            return
        try:
            attempt, seer = await database_sync_to_async(_enter)(
                self.scope, self.scope["url_route"]["kwargs"]["attempt_id"]
            )
            if (status := await hub().desk.ask(attempt.pk)) is None:
                raise NotFound(str(attempt.pk))
        except NotFound:
            await self.close(NOT_FOUND)
            return
        after = parse_qs(self.scope["query_string"].decode("latin1")).get("after", [""])[0]
        self.follower = Follower(
            attempt_id=attempt.pk,
            claim=Claim(
                user.pk,
                attempt.user_id,
                attempt.course_id,
                self.scope["session"].session_key,
                seer.viewing_id,
            ),
            outbox=outbox,
            position=EventId.parse(after),
        )
        self.follower.show(status)
        hub().follow(self.follower)
        SOCKETS.labels("attempt").inc()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        self.words += 1
        if self.words == WORDS_ALLOWED + 1:
            await self.close(TOO_TALKATIVE)

    async def disconnect(self, code: int) -> None:
        if self.follower is not None:
            hub().leave(self.follower)
            SOCKETS.labels("attempt").dec()


def _enter(scope: Mapping[str, Any], attempt_id: UUID) -> tuple[Attempt, Seer]:
    seer = seer_of(scope)
    return attempt_for(seer.user, attempt_id), seer
