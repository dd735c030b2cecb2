"""Endpoints as the console shows them: what the database knows, and who is in which slot just now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from labs.actions.breaker import FAILURES
from labs.actions.openings import Openings, openings
from labs.llama.facts import Slot
from labs.models import Attempt, Booking, Endpoint, Lease, State
from labs.steps import all_steps
from labs.text import N_, Text
from labs.views.class_now import CANARIES, SERVER_STATES
from labs.views.ops.slots import NOTHING, slots_now
from labs.views.ops.trend import Day, day_of
from labs.views.ops.words import found_words, why_words
from labs.views.words import say

DRAINING = N_("Drains: what runs goes on to its end, nothing new begins")


# What a canary looks for, and what it said when it was red.
Red = tuple[Text, Mapping[str, Any]]


def red_of(canaries: Mapping[str, Any]) -> list[Red]:
    """Those that are not green."""
    return [
        (CANARIES.get(name, Text("%(name)s", {"name": name})), one["reason"])
        for name, one in sorted(canaries.items())
        if not one["green"]
    ]


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has the lease. `beat_s`: seconds since it was last renewed. `attempt` None: the canaries. `cuts`: may close
    a connection; each look at `/slots` starts the one second anew that the server waits before it looks who left."""

    worker: str
    beat_s: int
    attempt: Attempt | None
    title: Text | str
    cuts: bool


@dataclass(frozen=True, slots=True)
class Row:
    """`queue`: how many wait that may run there. `untested`: the canaries are still to come. `technical`: what a
    program said of the last failure, in its own words."""

    endpoint: Endpoint
    state: Text
    why: str
    technical: str
    found: Text
    holder: Holder | None
    slots: Sequence[Slot]
    queue: int
    day: Day
    red: Sequence[Red]
    untested: bool
    booking: Booking | None

    @property
    def is_trouble(self) -> bool:
        return self.endpoint.state not in {Endpoint.State.UP, Endpoint.State.PAUSED}

    @property
    def failures(self) -> str:
        return f"{min(self.endpoint.failures, FAILURES)}/{FAILURES}"


def rows(only: Collection[int] | None = None) -> list[Row]:
    """A fixed number of queries, and for each server at most one look at its slots and one at its last day."""
    here = openings()
    shown = [one for one in here.endpoints if only is None or one.pk in only]
    leases = {
        lease.endpoint_id: lease
        for lease in Lease.objects.filter(endpoint__in=shown).select_related("run__attempt__user")
    }
    queued = list(Attempt.objects.filter(state=State.QUEUED).values_list("course_id", "step"))
    return [_row(one, leases.get(one.pk), here, queued) for one in sorted(shown, key=lambda one: one.name)]


def _row(endpoint: Endpoint, lease: Lease | None, here: Openings, queued: Iterable[tuple[int, str]]) -> Row:
    holder = _holder(lease)
    booking = here.bookings.get(endpoint.pk)
    drains = endpoint.state == Endpoint.State.PAUSED and holder is not None
    rests = endpoint.state == Endpoint.State.RESTING
    return Row(
        endpoint=endpoint,
        state=DRAINING if drains else SERVER_STATES[endpoint.state],
        why=endpoint.pause_note or (say(why_words(endpoint)) if rests else ""),
        technical=endpoint.detail if rests else "",
        found=found_words(endpoint.probed_as),
        holder=holder,
        slots=NOTHING if holder is not None and holder.cuts else slots_now(endpoint),
        queue=sum(
            here.may_run(endpoint, step) and (booking is None or booking.course_id == course_id)
            for course_id, step in queued
        ),
        day=day_of(endpoint),
        red=red_of(endpoint.canaries),
        untested=endpoint.canaries_wanted or endpoint.canaries_of != endpoint.fingerprint,
        booking=booking,
    )


def _holder(lease: Lease | None) -> Holder | None:
    now = timezone.now()
    if lease is None or not lease.holder or lease.expires_at is None:
        return None
    attempt = lease.run.attempt if lease.run else None
    step = all_steps().get(attempt.step) if attempt else None
    return Holder(
        lease.holder,
        beat_age_s(lease.expires_at, now),
        attempt,
        step.title if step else (attempt.step if attempt else N_("canaries")),
        cuts=step is None or "cancel" in step.needs,
    )


def beat_age_s(expires_at: datetime, now: datetime) -> int:
    """Since a lease was last renewed, by when it would end."""
    beaten_at = expires_at - timedelta(seconds=settings.LABHUB_LEASE_S)
    return max(0, round((now - beaten_at).total_seconds()))
