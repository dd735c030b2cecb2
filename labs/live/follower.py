"""One socket that follows one attempt: how far it has come, what it has been told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from labs.live.events import STREAM_LENGTH, EventId, Gap, gap_before
from labs.live.outbox import Message, Outbox
from labs.live.status import Status


def message_of(data: Mapping[str, Any]) -> Message:
    return Message(json.dumps(data, separators=(",", ":")).encode())


@dataclass(frozen=True, slots=True)
class Claim:
    """By what right the socket is open; checked again and again (labs.live.rights).

    `viewing_id`: the session's person looks at the pages of a student, and has the student's rights only.
    """

    user_id: int
    owner_id: int
    course_id: int
    session_key: str
    viewing_id: int | None = None


@dataclass(slots=True, eq=False)
class Follower:
    """`live`: it takes what the reader reads. Otherwise a task of its own brings it there from `position`."""

    attempt_id: UUID
    claim: Claim
    outbox: Outbox
    position: EventId
    shown: Status | None = None
    live: bool = False
    finished: bool = field(default=False)

    def deliver(self, event_id: EventId, message: Message | None) -> None:
        """Once and in order; what is missing before it is named first. Without a message it only moves on."""
        if event_id <= self.position:
            return
        if gap := gap_before(self.position, event_id):
            self.outbox.write(message_of(gap.message()))
        self.position = event_id
        if message is not None:
            self.outbox.write(message)

    def skip_to(self, event_id: EventId) -> None:
        """Everything up to and including `event_id` is lost."""
        first = EventId(event_id.run, self.position.seq + 1 if self.position.run == event_id.run else 1)
        self.outbox.write(message_of(Gap(first, event_id).message()))
        self.position = event_id

    def miss_end_of(self, run: int) -> None:
        """The database has the run's end and the stream does not: how much is missing nobody knows."""
        last = EventId(run, STREAM_LENGTH)
        if self.position < last and not self.outbox.full and not self.finished:
            self.skip_to(last)

    def show(self, status: Status) -> None:
        """Tells a state once. The end has no more in it than that it came: the page asks for the verdict itself."""
        if status != self.shown and not self.outbox.full and not self.finished:
            self.outbox.write(message_of(status.message()))
            self.shown = status

    def finish(self, version: int) -> None:
        if not self.finished and not self.outbox.full:
            self.finished = True
            self.outbox.write(
                message_of({"kind": "finished", "id": str(self.attempt_id), "version": version})
            )
