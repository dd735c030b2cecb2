"""One attempt and the sockets of this process that follow it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from labs.live.events import NEWS, EventId, key_of
from labs.live.follower import Follower
from labs.live.outbox import Message

# As Redis has it: the id and a flat list of field and value.
Entry = tuple[bytes, Sequence[bytes]]


def opened(entry: Entry) -> tuple[EventId, str, Message | None]:
    """Id, kind, and the message to pass on. It is not decoded: the worker has written what the page reads."""
    raw_id, (kind, payload, *_) = entry
    name = kind.decode()
    return EventId.parse(raw_id), name, None if name in NEWS else Message(payload)


class Feed:
    """`last` is how far the reader has read, None before it begins. Events arrive in the order of their ids."""

    def __init__(self, attempt_id: UUID) -> None:
        self.attempt_id = attempt_id
        self.key = key_of(attempt_id).encode()
        self.last: EventId | None = None
        self.followers: set[Follower] = set()
        self.news_run = 0
        self.settled_at_s: float | None = None

    def deliver(self, entries: Iterable[Entry]) -> tuple[set[str], list[Follower]]:
        """To every socket that is live. Returns the kinds that came and the sockets that cannot keep up."""
        kinds: set[str] = set()
        behind: list[Follower] = []
        for entry in entries:
            event_id, kind, message = opened(entry)
            self.last = event_id
            kinds.add(kind)
            self.hear(event_id, kind)
            for follower in self.followers:
                if not follower.live:
                    continue
                follower.deliver(event_id, message)
                if follower.outbox.full:
                    follower.live = False
                    behind.append(follower)
        return kinds, behind

    def hear(self, event_id: EventId, kind: str) -> None:
        """`news_run` is the newest run whose end the stream has told, to the reader or to one that catches up."""
        if kind in NEWS:
            self.news_run = max(self.news_run, event_id.run)
