"""Claim the next attempt and a lease on a whole endpoint, in one transaction."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from operator import or_

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from labs.actions.change import move
from labs.actions.openings import bookings_now
from labs.actions.pauses import paused_steps
from labs.models import Attempt, Booking, Endpoint, Lease, Round, Run, State
from labs.models.attempt import AttemptQuerySet

# A lease as its holder knows it: the endpoint's id and the fencing token.
LeaseKey = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Claim:
    """What a worker holds: the run it executes, and the endpoint it may use until the lease ends."""

    run: Run
    attempt: Attempt
    round: Round
    endpoint: Endpoint

    @property
    def lease(self) -> LeaseKey:
        return self.run.endpoint_id, self.run.token


class _LostRace(Exception):
    """Somebody else moved first; the transaction is rolled back and nothing changed."""


def waiting() -> AttemptQuerySet:
    """Queued attempts that may start now, first come first served. A returned attempt kept its `queued_at`.

    Practice is a line of its own, behind these: see `_first_at`.
    """
    is_time = Q(not_before__isnull=True) | Q(not_before__lte=Now())
    queued = Attempt.objects.in_line().filter(is_time, state=State.QUEUED, cancel_requested=False)
    return queued.order_by("queued_at", "pk")


def free_leases() -> QuerySet[Lease]:
    return Lease.objects.filter(Q(holder="") | Q(expires_at__lt=Now()), run__isnull=True)


def claim_next(worker: str) -> Claim | None:
    """The first waiting attempt on a free endpoint that may run its step; None when either is missing."""
    while pair := _first_pair():
        try:
            with transaction.atomic():
                return _claim(worker, *pair)
        except _LostRace:
            continue
    return None


def _first_pair() -> tuple[Attempt, Lease] | None:
    """Who waits longest comes first; of the servers that may have him, one that his class has booked, then the one
    with the fewest failures."""
    pairs = []
    leases = list(usable_leases().select_related("endpoint").order_by("endpoint__failures", "endpoint_id"))
    booked = bookings_now() if leases else {}
    for lease in sorted(leases, key=lambda lease: lease.endpoint_id not in booked):
        if attempt := _first_at(lease.endpoint, booked.get(lease.endpoint_id)):
            pairs.append((attempt, lease))
    return min(pairs, key=lambda pair: (pair[0].practice, pair[0].queued_at, pair[0].pk), default=None)


def _first_at(endpoint: Endpoint, booking: Booking | None) -> Attempt | None:
    """Practice only where no graded attempt waits for this endpoint, one that pauses before its next run included."""
    whose = Q() if booking is None else Q(course=booking.course_id)
    paused = paused_steps(endpoint)
    startable = waiting().filter(whose).exclude(step__in=paused)
    if graded := startable.for_grade().first():
        return graded
    behind = Attempt.objects.for_grade().in_line().filter(whose, state=State.QUEUED, cancel_requested=False)
    if behind.exclude(step__in=paused).exists():
        return None
    return startable.first()


def usable_leases() -> QuerySet[Lease]:
    """Without a join: Django would update `WHERE id IN (SELECT ...)`, and Postgres does not look at such a list again
    once it has waited for another claim's lock, so two would win."""
    return free_leases().filter(
        Exists(Endpoint.objects.filter(pk=OuterRef("endpoint_id"), state=Endpoint.State.UP))
    )


def _claim(worker: str, attempt: Attempt, lease: Lease) -> Claim:
    token = lease.token + 1
    taken = (
        usable_leases()
        .filter(pk=lease.pk, token=lease.token)
        .update(token=token, holder=worker, expires_at=Now() + timedelta(seconds=settings.LABHUB_LEASE_S))
    )
    if not taken or not move(attempt, State.QUEUED, State.RUNNING):
        raise _LostRace
    round_ = attempt.rounds.order_by("-number")[0]
    number = (attempt.runs.aggregate(last=Max("number"))["last"] or 0) + 1
    run = Run.objects.create(
        attempt=attempt,
        round=round_,
        number=number,
        endpoint_id=lease.endpoint_id,
        token=token,
        worker=worker,
        started_at=Now(),
    )
    Lease.objects.filter(pk=lease.pk, token=token).update(run=run)
    attempt.refresh_from_db()
    return Claim(run=run, attempt=attempt, round=round_, endpoint=lease.endpoint)


def release(run: Run) -> bool:
    """Gives the lease back if this run still holds it. False: it was taken over, and the caller must change nothing."""
    return bool(
        Lease.objects.filter(endpoint_id=run.endpoint_id, token=run.token, holder=run.worker, run=run).update(
            holder="", run=None, expires_at=None
        )
    )


def extend(worker: str, leases: Collection[LeaseKey]) -> set[LeaseKey]:
    """One heartbeat for all of a worker's leases. Returns those that are still ours."""
    if not leases:
        return set()
    these = reduce(or_, (Q(endpoint_id=endpoint_id, token=token) for endpoint_id, token in leases))
    ours = Lease.objects.filter(these, holder=worker, expires_at__gt=Now())
    ours.update(expires_at=Now() + timedelta(seconds=settings.LABHUB_LEASE_S))
    return set(ours.values_list("endpoint_id", "token"))
