"""Changes of an attempt's state. Each is one conditional UPDATE: zero rows means the race was lost."""

from __future__ import annotations

from typing import Any

from django.db.models import F
from django.db.models.functions import Now

from labs.models import TERMINAL, Attempt, AttemptCount, State, StoredRecording


def move(attempt: Attempt, before: State, after: State, **fields: Any) -> bool:
    """Moves the attempt from `before` to `after`. False when it was no longer there; then nothing changed.

    The guard stands in the UPDATE, because row locks do nothing on SQLite.
    """
    if after in TERMINAL:
        fields["finished_at"] = Now()
    if attempt.pair_id is not None and after is not State.QUEUED:
        fields |= {"partner_until": None, "rides_on": None}
    changed = Attempt.objects.filter(pk=attempt.pk, state=before).update(
        state=after, version=F("version") + 1, changed_at=Now(), **fields
    )
    if changed and attempt.pair_id is not None and after not in (State.QUEUED, State.RUNNING):
        let_go(attempt)
    return changed == 1


def let_go(attempt: Attempt) -> int:
    """Whoever still rides on an attempt that will not run again gets a run of their own."""
    return Attempt.objects.filter(rides_on=attempt.pk).update(rides_on=None, version=F("version") + 1)


def stop(attempt: Attempt, before: State) -> bool:
    """Ends a stopped attempt: free before its first token, counted after it (DESIGN 4). False as for `move`.

    An accepted run counts as well, for some rounds ask nothing of the model and yet show their result.
    """
    if not move(attempt, before, State.CANCELLED):
        return False
    recordings = StoredRecording.objects.filter(run__attempt=attempt)
    first_tokens_us = recordings.values_list("data__figures__first_token_us", flat=True)
    accepted = attempt.rounds.filter(accepted_run__isnull=False)
    if all(at_us is None for at_us in first_tokens_us) and not accepted.exists():
        refund(attempt)
    return True


def refund(attempt: Attempt) -> None:
    """Gives a charged attempt back, once."""
    if Attempt.objects.filter(pk=attempt.pk, charged=True).update(charged=False):
        AttemptCount.objects.filter(
            course_id=attempt.course_id, user_id=attempt.user_id, step=attempt.step, charged__gt=0
        ).update(charged=F("charged") - 1)
