"""Read side of a re-run: the latest answer of each student, who has alike ones, and where two judgements differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User

from labs.grading.checks import Check
from labs.models import AUTOMATIC, Attempt, Course, Enrolment, GradeEvent, Role, Round, State
from labs.steps.base import Step
from labs.text import Text


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What a student's latest graded attempt holds. `checks` are those that rest on the round of the answer."""

    attempt: Attempt
    text: str
    checks: Sequence[Check]

    @property
    def student(self) -> User:
        return self.attempt.user


@dataclass(frozen=True, slots=True)
class Difference:
    """A check whose stored verdict is not that of the new run; None where it was not judged at all."""

    title: Text
    stored: str | None
    now: str | None
    reason: Text


def stored_answers(course: Course, step: Step, only: UUID | None = None) -> list[StoredAnswer]:
    """By student, in the order of their names; or of one attempt, where that is a student's latest. Four queries,
    however many students. Empty where nothing is re-run."""
    rerun = step.rerun
    if rerun is None:
        return []
    students = Enrolment.objects.active().filter(course=course, role=Role.STUDENT).values("user")
    attempts = (
        Attempt.objects.for_grade()
        .filter(course=course, step=step.key, state=State.GRADED, user__in=students)
        .order_by("finished_at", "created_at")
    )
    latest = set(dict(attempts.values_list("user_id", "pk")).values())
    if only is not None:
        latest &= {only}
    rounds = Round.objects.filter(attempt__in=latest, key=rerun.round)
    texts = {row.attempt_id: str(row.answers.get(rerun.answer, "")) for row in rounds}
    events = GradeEvent.objects.filter(attempt__in=latest, kind__in=AUTOMATIC)
    checks = {event.attempt_id: event.checks for event in events.order_by("created_at", "pk")}
    found = Attempt.objects.filter(pk__in=texts).select_related("user")
    return [
        StoredAnswer(
            attempt,
            texts[attempt.pk],
            [
                check
                for check in map(Check.from_json, checks.get(attempt.pk, ()))
                if check.round == rerun.round
            ],
        )
        for attempt in found.order_by("user__last_name", "user__first_name", "user__username")
    ]


def alike(answers: Sequence[StoredAnswer], shape: Callable[[str], str]) -> Mapping[str, list[StoredAnswer]]:
    """Groups of two or more by their shape, and under "" all that cannot be read."""
    groups: dict[str, list[StoredAnswer]] = defaultdict(list)
    for answer in answers:
        groups[shape(answer.text)].append(answer)
    return {key: group for key, group in groups.items() if len(group) > 1 or not key}


def differences(stored: Sequence[Check], now: Sequence[Check]) -> list[Difference]:
    before, after = ({check.key: check for check in checks} for checks in (stored, now))
    found = []
    for key, shown in {**before, **after}.items():
        was, is_ = (str(checks[key].verdict) if key in checks else None for checks in (before, after))
        if was != is_:
            found.append(Difference(shown.title, was, is_, shown.reason))
    return found
