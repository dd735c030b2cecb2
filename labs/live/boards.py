"""Boards, live: once a second, and only where something changed, each board is built once for each audience and
language and pushed to all its sockets. What a socket missed it gets by fetching the page's fragment."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from channels.db import DatabaseSyncToAsync
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import Error as DatabaseError
from django.utils import translation

from labs.access import may_see
from labs.actions.errors import NotFound
from labs.boards import BOARDS, Audience
from labs.live.follower import Claim, message_of
from labs.live.outbox import Message, Outbox, outbox_for
from labs.live.rights import LOGGED_OUT, NOT_FOUND, ended, teaching
from labs.live.seer import seer_of
from labs.metrics.own import SOCKETS
from labs.models import BoardState, Course, Role

log = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
TRY_AGAIN_LATER = 4013
PING = message_of({"kind": "ping"})
Render = Callable[[Course, str, Audience], str]
# What draws the fragment. The wiring says it, because views know templates and this does not.
_render: list[Render] = []


def draw_with(render: Render) -> None:
    _render[:] = [render]


@dataclass(frozen=True, slots=True)
class View:
    """What is built once, however many look at it."""

    course_id: int
    board: str
    audience: Audience
    language: str


@dataclass(slots=True, eq=False)
class Onlooker:
    view: View
    claim: Claim
    outbox: Outbox
    version: int = -1


@dataclass
class BoardHub:
    """One for a process. All database work is done in one thread of its own."""

    onlookers: set[Onlooker] = field(default_factory=set)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _thread: ThreadPoolExecutor | None = None

    def follow(self, onlooker: Onlooker) -> None:
        self.onlookers.add(onlooker)
        if not self._tasks:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="live-boards")
            rounds = ((self._push, LOOK_EVERY_S), (self._watch_rights, settings.LABHUB_LIVE_RIGHTS_S))
            self._tasks = [
                asyncio.get_running_loop().create_task(self._repeat(step, every_s))
                for step, every_s in (*rounds, (self._ping, settings.LABHUB_LIVE_PING_S))
            ]

    def leave(self, onlooker: Onlooker) -> None:
        self.onlookers.discard(onlooker)
        if not self.onlookers:
            for task in self._tasks:
                task.cancel()
            self._tasks = []
            if self._thread is not None:
                self._thread.shutdown(wait=False)

    async def _repeat(self, step: Callable[[], Coroutine[Any, Any, None]], every_s: float) -> None:
        while True:
            try:
                await step()
            except DatabaseError as error:
                log.warning("live boards: %s", error)
            except Exception:
                log.exception("live boards: a round failed, the next one follows")
            await asyncio.sleep(every_s)

    async def _query(self, function: Callable[..., Any], *args: object) -> Any:
        return await DatabaseSyncToAsync(function, thread_sensitive=False, executor=self._thread)(*args)

    async def _push(self) -> None:
        versions = await self._query(_versions, {one.view.course_id for one in self.onlookers})
        behind: dict[View, list[Onlooker]] = {}
        for one in self.onlookers:
            if one.version != versions.get((one.view.course_id, one.view.board), 0) and not one.outbox.full:
                behind.setdefault(one.view, []).append(one)
        for view, waiting in behind.items():
            try:
                drawn = await self._query(_message, view)
            except Exception:  # the other boards go on
                log.exception("live boards: %s cannot be drawn", view)
                continue
            for one in waiting:
                if drawn is None:
                    one.outbox.close(NOT_FOUND)
                elif one in self.onlookers and not one.outbox.full:
                    one.version, message = drawn
                    one.outbox.write(message)

    async def _watch_rights(self) -> None:
        onlookers = list(self.onlookers)
        codes, staff = await self._query(_rights, {one.claim for one in onlookers})
        for one in onlookers:
            if code := codes.get(one.claim):
                one.outbox.close(code)
            elif (one.view.audience == "staff") != (one.claim in staff):
                one.outbox.close(TRY_AGAIN_LATER)  # it comes back as what it is now

    async def _ping(self) -> None:
        for one in self.onlookers:
            if not one.outbox.full:
                one.outbox.write(PING)


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, BoardHub] = WeakKeyDictionary()


def board_hub() -> BoardHub:
    """The running loop's own."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = BoardHub()
    return _hubs[loop]


class BoardConsumer(AsyncWebsocketConsumer):
    """`ws/courses/<slug>/boards/<board>/<language>/`: the board at once, and again after each change.

    Closes with 4401 (log in), 4404 (no such board, or not yours), 4403 (no longer enrolled), 4013 (come back).
    """

    onlooker: Onlooker | None = None

    async def connect(self) -> None:
        outbox = outbox_for(self.scope.get("labhub.send", self.base_send))
        await self.accept()
        user, where = self.scope["user"], self.scope["url_route"]["kwargs"]
        if user.is_anonymous:
            await self.close(LOGGED_OUT)
            return
        found = await DatabaseSyncToAsync(_enter)(self.scope, where["course_slug"], where["board"])
        if found is None or where["language"] not in dict(settings.LANGUAGES):
            await self.close(NOT_FOUND)
            return
        course_id, audience, viewing_id = found
        self.onlooker = Onlooker(
            View(course_id, where["board"], audience, where["language"]),
            Claim(user.pk, user.pk, course_id, self.scope["session"].session_key, viewing_id),
            outbox,
        )
        board_hub().follow(self.onlooker)
        SOCKETS.labels("board").inc()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Clients have nothing to say."""

    async def disconnect(self, code: int) -> None:
        if self.onlooker is not None:
            board_hub().leave(self.onlooker)
            SOCKETS.labels("board").dec()


def _enter(scope: Mapping[str, Any], slug: str, board: str) -> tuple[int, Audience, int | None] | None:
    try:
        seer = seer_of(scope)
    except NotFound:
        return None
    course = Course.objects.filter(slug=slug).first()
    role = may_see(seer.user, course) if course is not None else None
    if course is None or role is None or board not in BOARDS:
        return None
    return course.pk, "staff" if role is Role.INSTRUCTOR else "class", seer.viewing_id


def _versions(course_ids: Iterable[int]) -> dict[tuple[int, str], int]:
    rows = BoardState.objects.filter(course_id__in=course_ids)
    return {(row.course_id, row.board): row.version for row in rows}


def _message(view: View) -> tuple[int, Message] | None:
    """The version is read before the board is drawn: what changes in between is drawn again a second later. None: the
    course is gone, which staff learn here and from nowhere else."""
    version = _versions([view.course_id]).get((view.course_id, view.board), 0)
    course = Course.objects.filter(pk=view.course_id).first()
    if course is None:
        return None
    with translation.override(view.language):
        html = _render[0](course, view.board, view.audience)
    return version, message_of({"kind": "board", "version": version, "html": html})


def _rights(claims: set[Claim]) -> tuple[dict[Claim, int], set[Claim]]:
    """Claims that ended, and those of who looks as staff."""
    staff = teaching(claims)
    return ended(claims), {
        claim for claim in claims if claim.viewing_id is None and (claim.user_id, claim.course_id) in staff
    }
