"""What a set says: old by new, who would lose, what is kept. The same rows give the same bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Q

from labs.models import AUTOMATIC, Grade, GradeEvent, RegradeRow, RegradeSet
from labs.rules.score import counted
from labs.steps import all_steps
from labs.terms import rules_in_force, worth_of

ROWS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Matrix:
    """`counts[old][new]`: how many attempts. `old` is None for an attempt without a grade so far."""

    olds: Sequence[int | None]
    news: Sequence[int]
    counts: dict[tuple[int | None, int], int]

    @property
    def lines(self) -> list[tuple[int | None, list[tuple[int, int]]]]:
        return [(old, [(new, self.counts.get((old, new), 0)) for new in self.news]) for old in self.olds]

    @property
    def attempts(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Effect:
    """What counts for one student, lateness taken off, before and after; `attempt_id` is the one whose loss or gain
    decides.

    `overridden`: an instructor's points count instead, whatever grading gives.
    """

    user_id: int
    username: str
    before: Decimal | None
    after: Decimal | None
    attempt_id: UUID
    overridden: bool

    @property
    def loses(self) -> bool:
        return (self.after or 0) < (self.before or 0)

    @property
    def gains(self) -> bool:
        return (self.after or 0) > (self.before or 0)


def matrix_of(regrade: RegradeSet) -> Matrix:
    """Of the attempts that could be graded again."""
    found = (
        regrade.rows.filter(points__isnull=False)
        .values_list("old_points", "points")
        .order_by()
        .annotate(Count("pk"))
    )
    counts = {(old, new): count for old, new, count in found}
    olds = sorted({old for old, _new in counts}, key=lambda old: -1 if old is None else old)
    return Matrix(olds, sorted({new for _old, new in counts}), counts)


def effects_of(regrade: RegradeSet) -> list[Effect]:
    """Students whose counting points change, losers first, then by name."""
    step = all_steps()[regrade.step]
    worth = worth_of(step, rules_in_force([regrade.course]).get((regrade.course_id, step.key)))
    best: dict[int, dict[str, Any]] = {}
    rows = regrade.rows.order_by("attempt_id").values_list(
        "attempt__user_id",
        "attempt__user__username",
        "attempt_id",
        "old_points",
        "points",
        "attempt__late_percent",
    )
    for user_id, username, attempt_id, before, new, late in rows.iterator(ROWS_AT_ONCE):
        old, after = (
            None if points is None else counted(points, late, step.points, worth)
            for points in (before, before if new is None else new)
        )
        mine = best.setdefault(user_id, {"name": username, "old": None, "new": None, "was": None, "is": None})
        if old is not None and (mine["old"] is None or old > mine["old"]):
            mine["old"], mine["was"] = old, attempt_id
        if after is not None and (mine["new"] is None or after > mine["new"]):
            mine["new"], mine["is"] = after, attempt_id
    overridden = set(
        Grade.objects.filter(
            course_id=regrade.course_id, step=regrade.step, event__kind=GradeEvent.Kind.OVERRIDE
        ).values_list("user_id", flat=True)
    )
    changed = [
        Effect(
            user_id,
            mine["name"],
            mine["old"],
            mine["new"],
            # Who loses is shown what earned the points until now; who gains, what earns them from now on.
            (mine["was"] if (mine["new"] or 0) < (mine["old"] or 0) else mine["is"]) or mine["is"],
            user_id in overridden,
        )
        for user_id, mine in best.items()
        if mine["old"] != mine["new"]
    ]
    return sorted(changed, key=lambda effect: (not effect.loses, effect.username))


def kept_of(regrade: RegradeSet) -> list[RegradeRow]:
    """Attempts that keep what they had, with why."""
    return list(
        regrade.rows.exclude(kept="")
        .select_related("attempt__user")
        .order_by("attempt__user__username", "attempt_id")
    )


def counts_of(regrade: RegradeSet) -> dict[str, int]:
    """How many attempts the set holds, how many of them lose and gain points, and how many are kept as they were."""
    counts: dict[str, int] = regrade.rows.aggregate(
        attempts=Count("pk"),
        lower=Count("pk", filter=Q(points__lt=F("old_points"))),
        higher=Count("pk", filter=Q(points__gt=F("old_points"))),
        kept=Count("pk", filter=~Q(kept="")),
    )
    return counts


def lines_of(regrade: RegradeSet) -> Iterator[str]:
    """One line of JSON an attempt, in the order of their ids: what two previews must agree on."""
    rows = regrade.rows.order_by("attempt_id").values_list(
        "attempt_id", "old_points", "points", "open_points", "kept", "evidence_hash"
    )
    for attempt_id, old, new, open_points, kept, evidence_hash in rows.iterator(ROWS_AT_ONCE):
        yield json.dumps(
            {
                "attempt": str(attempt_id),
                "old": old,
                "new": new,
                "open": open_points,
                "kept": kept,
                "evidence": evidence_hash,
            },
            sort_keys=True,
        )


def digest_of(regrade: RegradeSet) -> str:
    digest = hashlib.sha256()
    for line in lines_of(regrade):
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def outdated(course_id: int, step_key: str, step_version: int, limits_version: int) -> int:
    """How many attempts count by another version of the step or of the limits than those in force."""
    newest = (
        GradeEvent.objects.filter(kind__in=AUTOMATIC, attempt__course_id=course_id, attempt__step=step_key)
        .order_by("attempt_id", "-created_at", "-pk")
        .values_list("attempt_id", "step_version", "limits_version")
    )
    stale, last = 0, None
    for attempt_id, *versions in newest.iterator(ROWS_AT_ONCE):
        if attempt_id != last:
            stale += versions != [step_version, limits_version]
        last = attempt_id
    return stale
