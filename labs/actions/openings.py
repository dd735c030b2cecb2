"""Which servers are open to whom now, and why none is: one look at the database for many questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from labs.actions.pauses import ANSWERING, closed_steps, paused_steps
from labs.models import Booking, Endpoint


class Why(StrEnum):
    """What keeps an attempt waiting that no server may take."""

    NONE = "none"  # there is no server at all
    STEP = "step"  # none that answers may run this step
    CHECK = "check"  # it has still to be seen whether one may
    BOOKED = "booked"  # those that could are another class's for now
    PAUSED = "paused"  # an admin holds them
    AWAY = "away"  # none answers


@dataclass(frozen=True, slots=True)
class Shut:
    """`note`: what the admin wrote who paused it. `until`: when the first booking in the way ends."""

    why: Why
    note: str = ""
    until: datetime | None = None


def bookings_now() -> dict[int, Booking]:
    """By the endpoint's id, of which at most one is in force."""
    return {one.endpoint_id: one for one in Booking.objects.at(Now())}


@dataclass(frozen=True)
class Openings:
    """All endpoints, and who has booked which of them now."""

    endpoints: Sequence[Endpoint]
    bookings: Mapping[int, Booking]

    @cached_property
    def answering(self) -> list[Endpoint]:
        return [one for one in self.endpoints if one.state in ANSWERING]

    @cached_property
    def _paused(self) -> dict[int, list[str]]:
        return {one.pk: paused_steps(one) for one in self.endpoints}

    def may_run(self, endpoint: Endpoint, step_key: str) -> bool:
        """By its canaries alone."""
        return step_key not in self._paused[endpoint.pk]

    def up_for(self, course_id: int) -> frozenset[int]:
        """Ids of the endpoints that take this course's attempts now."""
        return frozenset(
            one.pk
            for one in self.endpoints
            if one.state == Endpoint.State.UP and self._is_open(one, course_id)
        )

    def shut(self, course_id: int, step_key: str) -> Shut | None:
        """Why no server takes this step of this course now. None: one does."""
        if not self.endpoints:
            return Shut(Why.NONE)
        able = [one for one in self.endpoints if self.may_run(one, step_key)]
        up = [one for one in able if one.state == Endpoint.State.UP]
        if any(self._is_open(one, course_id) for one in up):
            return None
        if up:
            return Shut(Why.BOOKED, until=min(self.bookings[one.pk].ends_at for one in up))
        held = [one for one in self.endpoints if one.state == Endpoint.State.PAUSED]
        if held:
            return Shut(Why.PAUSED, note=next((one.pause_note for one in held if one.pause_note), ""))
        if not self.answering or able:
            return Shut(Why.AWAY)
        return Shut(Why.STEP if step_key in closed_steps(self.answering) else Why.CHECK)

    def _is_open(self, endpoint: Endpoint, course_id: int) -> bool:
        booking = self.bookings.get(endpoint.pk)
        return booking is None or booking.course_id == course_id


def openings() -> Openings:
    """One query, and one for the bookings where there are any."""
    booked = Booking.objects.at(Now()).filter(endpoint=OuterRef("pk"))
    endpoints = list(
        Endpoint.objects.exclude(state=Endpoint.State.REMOVED)
        .annotate(is_booked=Exists(booked))
        .order_by("pk")
    )
    is_any_booked = any(vars(endpoint)["is_booked"] for endpoint in endpoints)
    return Openings(endpoints, bookings_now() if is_any_booked else {})
