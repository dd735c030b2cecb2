"""What became of an attempt's grade: graded, graded again, points given by a person; what changed and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labs.grading.checks import Check
from labs.models import AUTOMATIC, GradeEvent
from labs.text import N_, Text
from labs.views.words import VERDICTS

KINDS: Mapping[str, Text] = {
    GradeEvent.Kind.AUTO: N_("Graded"),
    GradeEvent.Kind.REGRADE: N_("Graded again by changed rules"),
    GradeEvent.Kind.OVERRIDE: N_("An instructor gave the points"),
    GradeEvent.Kind.CLEARED: N_("An instructor's points ended"),
}


@dataclass(frozen=True, slots=True)
class Side:
    """A check as it was or is; `word` is None where it did not exist."""

    verdict: str
    word: Text
    points: int | None
    most: int


@dataclass(frozen=True, slots=True)
class Changed:
    title: Text
    before: Side | None
    after: Side | None
    reason: Text | None


@dataclass(frozen=True, slots=True)
class ShownGrade:
    """`changed`: the checks that a regrade judged otherwise. `before` are the points that it found, if any."""

    event: GradeEvent
    word: Text
    before: int | None
    changed: Sequence[Changed]

    @property
    def is_regrade(self) -> bool:
        return self.event.kind == GradeEvent.Kind.REGRADE


def history_of(events: Sequence[GradeEvent]) -> list[ShownGrade]:
    """Newest first."""
    shown: list[ShownGrade] = []
    graded: GradeEvent | None = None
    for event in events:
        is_again = event.kind == GradeEvent.Kind.REGRADE and graded is not None
        changed = changes(graded.checks, event.checks) if is_again and graded else []
        shown.append(ShownGrade(event, KINDS[event.kind], graded.points if graded else None, changed))
        if event.kind in AUTOMATIC:
            graded = event
    return shown[::-1]


def changes(before: Sequence[Mapping[str, object]], after: Sequence[Mapping[str, object]]) -> list[Changed]:
    """Checks whose verdict or points differ, in the new order; those that are gone last."""
    olds = {check.key: check for check in map(Check.from_json, before)}
    news = {check.key: check for check in map(Check.from_json, after)}
    found: list[Changed] = []
    for key in [*news, *(key for key in olds if key not in news)]:
        old, new = olds.get(key), news.get(key)
        if _side(old) != _side(new):
            known = new or old
            assert known is not None
            found.append(Changed(known.title, _side(old), _side(new), new.reason if new else None))
    return found


def _side(check: Check | None) -> Side | None:
    return None if check is None else Side(check.verdict, VERDICTS[check.verdict], check.score, check.points)
