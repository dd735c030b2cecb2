"""What the tests of the engine look at in the database."""

from __future__ import annotations

from django.contrib.auth.models import User

from labs.actions.claim import Claim, claim_next
from labs.models import Attempt, AttemptCount


def claim() -> Claim:
    Attempt.objects.update(not_before=None)
    got = claim_next("w")
    assert got is not None
    return got


def fresh(attempt: Attempt) -> Attempt:
    return Attempt.objects.get(pk=attempt.pk)


def charged(user: User) -> int:
    return AttemptCount.objects.get(user=user).charged
