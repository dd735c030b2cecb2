"""Everything that is not final, with how long, who drives it, and what keeps it from its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from labs.actions.openings import Openings, openings
from labs.models import LIVE, Attempt, Endpoint, Lease, Run, State
from labs.steps import all_steps
from labs.text import N_, Text
from labs.views.ops.rows import beat_age_s
from labs.views.waits import WHY

MOST = 500
# A wake-up comes with each sweep; what nobody has taken after several of them has a cause.
UNTAKEN = timedelta(seconds=60)

OPEN = N_("Waits for the student's next round; ends by itself on %(at)s.")
BACK = N_("Comes back after a fault, in %(s)s s.")
PARTNERS_RUN = N_("Waits for its partner's run, which serves both.")
PARTNERS_ANSWERS = N_("Waits for its partner's answers, %(s)s s at most.")
AHEAD = N_("Waits its turn behind others.")
NEXT = N_("Is next, as soon as a server is free.")
NOBODY = N_("A server is free, and nobody takes it: is a worker running? Each sweep wakes them again.")
STOPPING = N_("Stop was pressed; its worker ends it at its next look.")
RUNS = N_("Runs.")
LATE = N_("Its worker has missed heartbeats. Without one for %(s)s s the sweep gives it to another.")
GONE = N_("Its worker is gone, and the sweep has not ended it yet: is the sweep running?")
LOOSE = N_("No server is held for it any more; the sweep ends it at its next pass.")


@dataclass(frozen=True, slots=True)
class StuckRow:
    """`since`: when this state began. `beat_s`: seconds since its worker was last heard of; None: it has none."""

    attempt: Attempt
    title: Text | str
    since: datetime
    age_s: int
    cause: Text
    run: Run | None = None
    endpoint: Endpoint | None = None
    beat_s: int | None = None
    is_trouble: bool = False


def stuck_rows() -> tuple[list[StuckRow], int]:
    """The rows, those in trouble first and then the oldest, and how many there are in all. Five queries, and one for
    the bookings where there are any."""
    found = Attempt.objects.filter(state__in=LIVE)
    attempts = list(
        found.select_related("user", "course").order_by(F("queued_at").asc(nulls_last=True), "pk")[:MOST]
    )
    runs = {
        run.attempt_id: run
        for run in Run.objects.filter(attempt__in=attempts, outcome=Run.Outcome.NONE).select_related(
            "endpoint"
        )
    }
    leases = {lease.run_id: lease for lease in Lease.objects.filter(run__in=list(runs.values()))}
    here, now = openings(), timezone.now()
    free = _free(here, now)
    rows: list[StuckRow] = []
    is_first = True
    for attempt in attempts:
        run = runs.get(attempt.pk)
        lease = leases.get(run.pk) if run else None
        rows.append(_row(attempt, run, lease, _cause(attempt, run, lease, here, free, now, is_first), now))
        is_first = is_first and attempt.state != State.QUEUED
    rows.sort(key=lambda row: (not row.is_trouble, row.attempt.state == State.OPEN, row.since))
    return rows, found.count() if len(attempts) == MOST else len(attempts)


def _row(
    attempt: Attempt, run: Run | None, lease: Lease | None, cause: tuple[Text, bool], now: datetime
) -> StuckRow:
    step = all_steps().get(attempt.step)
    beat_s = beat_age_s(lease.expires_at, now) if lease and lease.expires_at else None
    return StuckRow(
        attempt=attempt,
        title=step.title if step else attempt.step,
        since=attempt.changed_at,
        age_s=max(0, round((now - attempt.changed_at).total_seconds())),
        cause=cause[0],
        is_trouble=cause[1],
        run=run,
        endpoint=run.endpoint if run else None,
        beat_s=beat_s,
    )


def _cause(
    attempt: Attempt,
    run: Run | None,
    lease: Lease | None,
    here: Openings,
    free: frozenset[int],
    now: datetime,
    is_first: bool,
) -> tuple[Text, bool]:
    """What keeps it, and whether that needs somebody."""
    if attempt.state == State.OPEN:
        ends_at = attempt.changed_at + timedelta(seconds=settings.LABHUB_OPEN_ATTEMPT_S)
        return Text(OPEN.msgid, {"at": f"{ends_at:%Y-%m-%d %H:%M} UTC"}), False
    if attempt.state == State.RUNNING:
        return _cause_of_running(attempt, run, lease, now)
    if attempt.rides_on_id is not None:
        return PARTNERS_RUN, False
    if attempt.partner_until and attempt.partner_until > now:
        return Text(
            PARTNERS_ANSWERS.msgid, {"s": round((attempt.partner_until - now).total_seconds())}
        ), False
    if attempt.not_before and attempt.not_before > now:
        return Text(BACK.msgid, {"s": round((attempt.not_before - now).total_seconds())}), False
    if (shut := here.shut(attempt.course_id, attempt.step)) is not None:
        text = WHY[shut.why]
        until = f"{shut.until:%Y-%m-%d %H:%M} UTC" if shut.until else ""
        return (Text(text.msgid, {"until": until}) if until else text), True
    may = {one.pk for one in here.endpoints if here.may_run(one, attempt.step)}
    if free & here.up_for(attempt.course_id) & may:
        is_late = now - max(attempt.changed_at, attempt.not_before or attempt.changed_at) > UNTAKEN
        return (NOBODY, True) if is_late else (NEXT, False)
    return (NEXT if is_first else AHEAD), False


def _cause_of_running(
    attempt: Attempt, run: Run | None, lease: Lease | None, now: datetime
) -> tuple[Text, bool]:
    if run is None or lease is None or lease.expires_at is None:
        return LOOSE, True
    if lease.expires_at < now:
        return GONE, True
    if beat_age_s(lease.expires_at, now) > 2 * settings.LABHUB_BEAT_S:
        return Text(LATE.msgid, {"s": round(settings.LABHUB_LEASE_S)}), True
    return (STOPPING if attempt.cancel_requested else RUNS), False


def _free(here: Openings, now: datetime) -> frozenset[int]:
    """Ids of the endpoints that are up and that nobody holds."""
    held: Sequence[int] = list(
        Lease.objects.exclude(holder="").filter(expires_at__gte=now).values_list("endpoint_id", flat=True)
    )
    return frozenset(one.pk for one in here.endpoints if one.state == Endpoint.State.UP) - frozenset(held)
