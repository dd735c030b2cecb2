"""Who comes while a question is under way shares the next one, whatever becomes of the others."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Collection

import pytest
from django.db import OperationalError

from labs.live.desk import StatusDesk
from labs.live.status import Status
from labs.models import State

HERE, GONE = uuid.uuid4(), uuid.uuid4()


class Database:
    """Answers when it is let; `asked` is what each question was of."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[set[uuid.UUID]] = []
        self.begun, self.let = threading.Event(), threading.Event()
        self.error: Exception | None = None
        monkeypatch.setattr("labs.live.desk.statuses", self._statuses)

    def _statuses(self, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, Status]:
        self.asked.append(set(ids))
        self.begun.set()
        assert self.let.wait(10)
        if self.error is not None:
            raise self.error
        return {one: Status(State.QUEUED, len(self.asked)) for one in ids if one != GONE}


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Database:
    return Database(monkeypatch)


async def test_who_comes_meanwhile_shares_the_next_question(database: Database) -> None:
    desk = StatusDesk()
    first = asyncio.create_task(desk.ask(HERE))
    await asyncio.to_thread(database.begun.wait, 10)
    others = [uuid.uuid4() for _ in range(50)]
    later = [asyncio.create_task(desk.ask(one)) for one in [*others, HERE, HERE, GONE]]
    await asyncio.sleep(0)
    later[0].cancel()
    database.let.set()
    told = await asyncio.gather(first, *later, return_exceptions=True)
    assert database.asked == [{HERE}, {*others, HERE, GONE}]
    assert told[0] == Status(State.QUEUED, 1)
    assert isinstance(told[1], asyncio.CancelledError)
    assert told[2:] == [Status(State.QUEUED, 2)] * 51 + [None]


async def test_a_database_that_does_not_answer_is_told_to_all_and_asked_again(database: Database) -> None:
    desk = StatusDesk()
    database.let.set()
    database.error = OperationalError("gone")
    told = await asyncio.gather(desk.ask(HERE), desk.ask(GONE), return_exceptions=True)
    assert [type(one) for one in told] == [OperationalError, OperationalError]
    database.error = None
    assert (await desk.ask(HERE)) == Status(State.QUEUED, len(database.asked))
