"""The list of a course's steps with the student's points and where each stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User

from labs.models import LIVE, Attempt, Course, Grade, GradeEvent
from labs.steps import all_steps
from labs.steps.base import Step


@dataclass(frozen=True, slots=True)
class StepRow:
    """`state` is the live attempt's state, else 'done' when all points are earned, 'tried' or 'new'.

    `given`: an instructor's event, where that counts; `graded` is what grading alone gave.
    """

    step: Step
    number: int
    points: int
    open_points: int
    state: str
    given: GradeEvent | None = None
    graded: int | None = None


@dataclass(frozen=True, slots=True)
class CourseRow:
    course: Course
    steps: Sequence[StepRow]

    @property
    def points(self) -> int:
        return sum(row.points for row in self.steps)

    @property
    def most(self) -> int:
        return sum(row.step.points for row in self.steps)

    @property
    def next_step(self) -> StepRow | None:
        return next((row for row in self.steps if row.state != "done"), None)


def course_rows(user: User, courses: Iterable[Course]) -> list[CourseRow]:
    """Two queries, whatever the number of courses and steps."""
    courses = list(courses)
    mine = {"user": user, "course__in": courses}
    found = Grade.objects.filter(**mine).select_related("event", "automatic")
    grades = {(grade.course_id, grade.step): grade for grade in found}
    states: dict[tuple[int, str], str] = {}
    for course_id, step, state in (
        Attempt.objects.filter(**mine).values_list("course_id", "step", "state").distinct()
    ):
        if state in LIVE or (course_id, step) not in states:
            states[course_id, step] = state if state in LIVE else "tried"
    return [
        CourseRow(
            course,
            [
                _row(
                    step, number, grades.get((course.pk, step.key)), states.get((course.pk, step.key), "new")
                )
                for number, step in enumerate(all_steps().values(), start=1)
            ],
        )
        for course in courses
    ]


def _row(step: Step, number: int, grade: Grade | None, state: str) -> StepRow:
    points, open_points = (grade.event.points, grade.event.open_points) if grade else (0, 0)
    if state == "tried" and points >= step.points:
        state = "done"
    if grade is None or not grade.is_overridden:
        return StepRow(step, number, points, open_points, state)
    graded = grade.automatic.points if grade.automatic else None
    return StepRow(step, number, points, open_points, state, grade.event, graded)
