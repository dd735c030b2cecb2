"""Build a set: every regradable attempt graded again, a chunk a transaction, beside the grades that count.

What is built survives a killed process; whoever comes next goes on. No grade changes here.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from labs.actions.errors import Refused
from labs.actions.grade import event_fields
from labs.actions.regrade.again import grade_again, regradable, with_recordings
from labs.actions.regrade.report import digest_of
from labs.limits import limits_in_force
from labs.models import Attempt, Course, GradeEvent, RegradeRow, RegradeSet
from labs.steps import all_steps
from labs.steps.base import Step
from labs.text import N_

log = logging.getLogger(__name__)

CHUNK = 200
# A build that did not go on for so long lost its worker; one older than the limit is given up.
BEAT_S, LIMIT_S = 60, 3600

State = RegradeSet.State


class _Stopped(Exception):
    """The set is no longer being built: cancelled, or somebody else builds it."""


def start(course: Course, step: Step, by: User | None, why: str, limits: Mapping[str, int]) -> RegradeSet:
    """A new set, still to be built. `limits` as a whole replace those in force when the set is applied.

    Raises Refused while another set of this step is open.
    """
    own = {limit.key: limit.default for limit in step.all_limits()}
    values = {key: value for key, value in sorted(limits.items()) if own.get(key) != value}
    present = limits_in_force(course.pk, step.key)
    try:
        with transaction.atomic():
            return RegradeSet.objects.create(
                course=course,
                step=step.key,
                step_version=step.version,
                limits=values,
                limits_version=present.version + (values != present.values),
                why=why,
                by=by,
                beat_at=Now(),
            )
    except IntegrityError as error:
        raise Refused(
            N_("A regrade of this step is open already. Apply or cancel it before you begin another.")
        ) from error


def build(regrade: RegradeSet, *, chunks: int | None = None) -> bool:
    """Goes on with the set, at most so many chunks. True when it is complete and can be applied."""
    try:
        while chunks is None or chunks > 0:
            if not build_chunk(regrade):
                return _complete(regrade)
            chunks = None if chunks is None else chunks - 1
        return not missing(regrade).exists() and _complete(regrade)
    except _Stopped:
        return False


def build_chunk(regrade: RegradeSet, *, state: State = State.BUILDING) -> int:
    """Grades the next attempts again and keeps their rows. The number of them; 0 when none is left."""
    attempts = list(with_recordings(missing(regrade).order_by("pk"))[:CHUNK])
    # Before the transaction: on SQLite nobody else can write while one is open.
    rows = [row_of(regrade, attempt) for attempt in attempts]
    try:
        with transaction.atomic():
            # The guard: a set cancelled meanwhile gets no row. The beat tells the sweep that somebody is here.
            if not RegradeSet.objects.filter(pk=regrade.pk, state=state).update(beat_at=Now()):
                raise _Stopped
            RegradeRow.objects.bulk_create(rows)
    except IntegrityError as error:  # another worker was quicker with these
        raise _Stopped from error
    return len(rows)


def missing(regrade: RegradeSet) -> QuerySet[Attempt]:
    """Attempts that the set does not hold yet, those that ended since it was begun among them."""
    held = RegradeRow.objects.filter(set=regrade).values("attempt")
    return regradable(regrade.course_id, regrade.step).exclude(pk__in=held)


def row_of(regrade: RegradeSet, attempt: Attempt) -> RegradeRow:
    events: Sequence[GradeEvent] = vars(attempt)["automatic_events"]
    before = events[-1] if events else None
    row = RegradeRow(
        set=regrade, attempt=attempt, before=before, old_points=before.points if before else None
    )
    again = grade_again(attempt, all_steps()[regrade.step], regrade.limits)
    row.kept, row.detail = again.kept, again.detail
    if again.kept:
        return row
    fields = event_fields(again.checks)
    row.points, row.open_points = fields["points"], fields["open_points"]
    row.evidence_hash = fields["evidence_hash"]
    versions = (regrade.step_version, regrade.limits_version)
    if (
        before is None
        or before.evidence_hash != row.evidence_hash
        or (before.step_version, before.limits_version) != versions
    ):
        row.checks = fields["checks"]
    return row


def build_due() -> None:
    """Goes on with every set that is being built. For the background worker and the sweep's wake-ups."""
    for regrade in RegradeSet.objects.filter(state=State.BUILDING):
        try:
            build(regrade)
        except Exception:
            log.exception("building %s failed; the sweep tries again", regrade)


def stalled() -> QuerySet[RegradeSet]:
    """Sets being built by nobody."""
    return RegradeSet.objects.filter(state=State.BUILDING, beat_at__lt=Now() - timedelta(seconds=BEAT_S))


def overdue() -> QuerySet[RegradeSet]:
    return RegradeSet.objects.filter(state=State.BUILDING, created_at__lt=Now() - timedelta(seconds=LIMIT_S))


def _complete(regrade: RegradeSet) -> bool:
    digest = digest_of(regrade)
    done = RegradeSet.objects.filter(pk=regrade.pk, state=State.BUILDING).update(
        state=State.PREVIEW, digest=digest
    )
    regrade.refresh_from_db()
    return bool(done)
