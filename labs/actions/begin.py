"""New attempts: a graded one is charged as it begins, and one of practice counts nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F
from django.utils import timezone

from labs.actions.errors import Refused
from labs.models import Attempt, AttemptCount, Reason, State
from labs.sheets import Sheet
from labs.text import N_

FREE_REPEATS_AN_HOUR = 3


def begin_graded(
    sheet: Sheet, state: State, counts_at: datetime, late_percent: int, together: Mapping[str, Any]
) -> Attempt:
    """A new attempt, charged at once; it is given back when it ends as a fault of the server."""
    free = (
        Attempt.objects.for_grade()
        .filter(
            user=sheet.user,
            step=sheet.step.key,
            charged=False,
            finished_at__gt=timezone.now() - timedelta(hours=1),
            state__in=[State.ERRORED, State.GRADED],
        )
        .exclude(reason=Reason.ENDED_BY_ADMIN)  # that was no fault which somebody could draw out
        .count()
    )
    if free >= FREE_REPEATS_AN_HOUR:
        raise Refused(
            N_(
                "The server failed %(count)s of your attempts in the last hour. They cost you nothing, but please wait"
                " a while, or tell your instructor, before trying this step again.",
                count=free,
            )
        )
    whose = {"course": sheet.course, "user": sheet.user, "step": sheet.step.key}
    AttemptCount.objects.bulk_create([AttemptCount(**whose)], ignore_conflicts=True)
    # `charged` must still be what the form was drawn from, else the answers belong to other inputs.
    bumped = AttemptCount.objects.filter(
        **whose, charged=sheet.seed_number, charged__lt=sheet.terms.attempts
    ).update(charged=F("charged") + 1)
    if not bumped:
        if sheet.attempts_left == 0:
            raise Refused(N_("You have no attempts left for this step."))
        raise Refused(N_("Another attempt began meanwhile. Reload the page; your inputs are new."))
    return new_attempt(
        sheet,
        state,
        submitted_at=counts_at,
        late_percent=late_percent,
        pair=sheet.pair,
        pair_number=sheet.pair_number,
        **together,
    )


def begin_practice(sheet: Sheet, state: State) -> Attempt:
    return new_attempt(sheet, state, practice=True, charged=False)


def new_attempt(sheet: Sheet, state: State, **more: Any) -> Attempt:
    """Of this person at this step, with the inputs that the form was drawn from."""
    now = timezone.now()
    fields = {"queued_at": now, "changed_at": now, **more}
    return Attempt.objects.create(
        course=sheet.course,
        user=sheet.user,
        step=sheet.step.key,
        step_version=sheet.step.version,
        seed_number=sheet.seed_number,
        state=state,
        **fields,
    )
