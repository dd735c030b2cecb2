"""From when to when a step is open to one student, and what a submit at a moment costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from labs.rules.clock import days_begun, minute_end


class Late(StrEnum):
    """What becomes of a submit after the due minute."""

    REFUSED = "refused"
    REDUCED = "reduced"
    ACCEPTED = "accepted"


class Door(StrEnum):
    EARLY = "early"
    ON_TIME = "on_time"
    LATE = "late"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Standing:
    """A submit at a moment. `percent` of the earned points are lost; `days` are begun since the due minute."""

    door: Door
    days: int = 0
    percent: int = 0

    @property
    def is_accepted(self) -> bool:
        return self.door in (Door.ON_TIME, Door.LATE)


@dataclass(frozen=True, slots=True)
class Window:
    """All instants, and the zone in which days are counted and times are said. Without a due time it never ends.

    REDUCED: every day begun costs `percent_a_day`, but `floor_percent` of the earned points always stay.
    `ends_at` is the last minute at which late work is taken; None: no end. Due and end cover their whole minute.
    """

    zone: str = "UTC"
    opens_at: datetime | None = None
    due_at: datetime | None = None
    late: Late = Late.REFUSED
    percent_a_day: int = 0
    floor_percent: int = 0
    ends_at: datetime | None = None

    @property
    def last_at(self) -> datetime | None:
        """The last minute at which a submit is taken; None: any."""
        return self.due_at if self.due_at is None or self.late is Late.REFUSED else self.ends_at

    def standing(self, at: datetime) -> Standing:
        if self.opens_at is not None and at < self.opens_at:
            return Standing(Door.EARLY)
        if self.due_at is None or at < minute_end(self.due_at):
            return Standing(Door.ON_TIME)
        days = days_begun(self.due_at, at, self.zone)
        if self.last_at is not None and at >= minute_end(self.last_at):
            return Standing(Door.CLOSED, days)
        if self.late is Late.ACCEPTED:
            return Standing(Door.LATE, days)
        return Standing(Door.LATE, days, min(days * self.percent_a_day, 100 - self.floor_percent))

    def extended(self, due_at: datetime) -> Window:
        """With a later due time. An earlier one changes nothing; an end before it moves along."""
        if self.due_at is None or due_at <= self.due_at:
            return self
        ends_at = None if self.ends_at is None else max(self.ends_at, due_at)
        return replace(self, due_at=due_at, ends_at=ends_at)
