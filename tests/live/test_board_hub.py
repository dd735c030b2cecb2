"""The boards' hub inside this process: one board's end is not everybody's."""

from __future__ import annotations

import asyncio
import json

import pytest

from labs.live import boards
from labs.live.boards import BoardHub, Onlooker, View
from labs.live.follower import Claim
from labs.live.outbox import Message
from labs.live.rights import NOT_FOUND
from labs.models import Course


class Taken:
    """An outbox that keeps what it was given."""

    full = False

    def __init__(self) -> None:
        self.said: list[str] = []
        self.closed_with: int | None = None

    def write(self, message: Message) -> None:
        self.said.append(json.loads(message.payload)["html"])

    def close(self, code: int) -> None:
        self.closed_with = code


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boards, "_render", [lambda course, board, audience: f"{course.slug} {board}"])


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("drawn")
def test_a_course_that_is_gone_closes_its_own_sockets_only(course: Course) -> None:
    hub = BoardHub()
    nowhere, here = Taken(), Taken()
    for course_id, outbox in ((course.pk + 1, nowhere), (course.pk, here)):
        view = View(course_id, "voice", "staff", "en")
        hub.onlookers.add(Onlooker(view, Claim(1, 1, course_id, "x"), outbox))
    asyncio.run(hub._push())
    assert nowhere.closed_with == NOT_FOUND
    assert (nowhere.said, here.said) == ([], [f"{course.slug} voice"])
    assert here.closed_with is None
