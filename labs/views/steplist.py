"""The list of a course's steps with the student's points and where each stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from django.contrib.auth.models import User
from django.utils import timezone

from labs.models import LIVE, TERMINAL, Attempt, Course, Grade, GradeEvent
from labs.steps import all_steps
from labs.steps.base import Step
from labs.terms import Key, Terms, counted_points, terms_of, total


@dataclass(frozen=True, slots=True)
class StepRow:
    """`state` is the live attempt's state, else 'done' when all points are earned, 'tried' or 'new'.

    `points` of `most` is what counts in the course, lateness taken off. While they are held back it is None, and the
    state is 'held' once there is a grade, whatever the grade.
    `given`: an instructor's event, where that counts; `graded` is what grading alone gave.
    """

    step: Step
    number: int
    points: Decimal | None
    most: int
    open_points: int
    state: str
    terms: Terms
    given: GradeEvent | None = None
    graded: Decimal | None = None

    @property
    def is_held(self) -> bool:
        return self.points is None


@dataclass(frozen=True, slots=True)
class CourseRow:
    course: Course
    steps: Sequence[StepRow]

    @property
    def points(self) -> Decimal:
        return total(row.points for row in self.steps)

    @property
    def is_partly_held(self) -> bool:
        return any(row.state == "held" for row in self.steps)

    @property
    def most(self) -> int:
        return sum(row.most for row in self.steps)

    @property
    def next_step(self) -> StepRow | None:
        return next((row for row in self.steps if row.state not in ("done", "held")), None)


def course_rows(
    user: User, courses: Iterable[Course], terms: Mapping[Key, Terms] | None = None
) -> list[CourseRow]:
    """Two queries, whatever the number of courses and steps, and those of the terms where they are not given."""
    courses = list(courses)
    terms, now = terms or terms_of(user, courses), timezone.now()
    mine = {"user": user, "course__in": courses}
    # Not the checks: the evidence of nine steps is long, and no list shows it.
    found = (
        Grade.objects.filter(**mine)
        .select_related("event__attempt", "automatic__attempt")
        .defer("event__checks", "automatic__checks")
    )
    grades = {(grade.course_id, grade.step): grade for grade in found}
    states: dict[tuple[int, str], str] = {}
    for course_id, step, state in (
        Attempt.objects.filter(**mine)
        .exclude(practice=True, state__in=TERMINAL)
        .values_list("course_id", "step", "state")
        .distinct()
    ):
        if state in LIVE or (course_id, step) not in states:
            states[course_id, step] = state if state in LIVE else "tried"
    return [
        CourseRow(
            course,
            [
                _row(
                    step,
                    number,
                    grades.get((course.pk, step.key)),
                    states.get((course.pk, step.key), "new"),
                    terms[course.pk, step.key],
                    now,
                )
                for number, step in enumerate(all_steps().values(), start=1)
            ],
        )
        for course in courses
    ]


def _row(step: Step, number: int, grade: Grade | None, state: str, terms: Terms, now: datetime) -> StepRow:
    if terms.hides_scores(now):
        state = "held" if grade is not None and state == "tried" else state
        return StepRow(step, number, None, terms.worth, 0, state, terms)
    if grade is None:
        return StepRow(step, number, Decimal(0), terms.worth, 0, state, terms)
    points = counted_points(grade.event, grade.event.attempt, step, terms.worth)
    if state == "tried" and grade.event.points >= step.points:
        state = "done"
    row = StepRow(step, number, points, terms.worth, grade.event.open_points, state, terms)
    if not grade.is_overridden:
        return row
    beneath = grade.automatic
    graded = counted_points(beneath, beneath.attempt, step, terms.worth) if beneath else None
    return replace(row, given=grade.event, graded=graded)
