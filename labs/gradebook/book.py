"""A course's gradebook: each student's counted points at each step, what they rest on, and their sum."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cache
from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from labs.models import LIVE, Attempt, Course, Enrolment, Extension, Grade, GradeEvent, Role, State, StepRule
from labs.names import full_name
from labs.rules.clock import minute_end
from labs.rules.window import Door
from labs.steps import all_steps
from labs.steps.base import Step
from labs.terms import points_that_count, rules_in_force, terms, total, worth_of


@dataclass(frozen=True, slots=True)
class Column:
    """A step with what it is worth in the course. `is_held`: its students do not see their points yet."""

    step: Step
    worth: int
    is_held: bool


@dataclass(slots=True)
class Cell:
    """One student at one step. `points` None: no grade. `attempt_id` is the evidence: of what counts, else the latest.

    `comment` stands beside points that an instructor gave; `graded` are those that grading alone gave, if any.
    `late_percent` of the points were taken off. `state` is that of an attempt under way, or of the latest one
    where there is no grade.
    """

    points: Decimal | None = None
    attempt_id: UUID | None = None
    open_points: int = 0
    is_given: bool = False
    comment: str = ""
    graded: Decimal | None = None
    is_late: bool = False
    late_percent: int = 0
    state: str = ""


@dataclass(slots=True)
class Line:
    enrolment: Enrolment
    name: str
    cells: Sequence[Cell]
    total: Decimal = field(init=False)

    def __post_init__(self) -> None:
        self.total = total(cell.points for cell in self.cells)

    @property
    def user(self) -> User:
        return self.enrolment.user

    @property
    def called(self) -> str:
        return self.name or self.user.get_username()


@dataclass(frozen=True, slots=True)
class Gradebook:
    course: Course
    columns: Sequence[Column]
    lines: Sequence[Line]

    @property
    def most(self) -> int:
        return sum(column.worth for column in self.columns)


def gradebook_of(course: Course) -> Gradebook:
    """All students, those who left too, by name. Five queries, however many students and steps."""
    now = timezone.now()
    rules = {key: rule for (_course, key), rule in rules_in_force([course]).items()}
    steps = all_steps()
    columns = [_column(step, rules.get(step.key), course, now) for step in steps.values()]
    cells = _cells(course, columns, rules)
    students = Enrolment.objects.filter(course=course, role=Role.STUDENT).select_related("user")
    lines = [
        Line(
            enrolment,
            full_name(enrolment.user),
            [cells.get((enrolment.user_id, key)) or Cell() for key in steps],
        )
        for enrolment in students
    ]
    lines.sort(key=by_name)
    return Gradebook(course, columns, lines)


def by_name(line: Line) -> tuple[str, str, int]:
    """In Hangul's order and the alphabet's; the login and the number behind it make every order a whole one."""
    return line.called.casefold(), line.user.username, line.user.pk


def _column(step: Step, rule: StepRule | None, course: Course, now: datetime) -> Column:
    of_class = terms(course, step, rule, [])
    return Column(step, worth_of(step, rule), of_class.hides_scores(now))


def _cells(
    course: Course, columns: Sequence[Column], rules: Mapping[str, StepRule]
) -> dict[tuple[int, str], Cell]:
    by_step = {column.step.key: column for column in columns}

    @cache  # a class has few different grades
    def counts(key: str, kind: str, points: int, late: int) -> Decimal:
        return points_that_count(kind, points, late, by_step[key].step, by_step[key].worth)

    is_late = _lateness(course, columns, rules)
    cells: dict[tuple[int, str], Cell] = {}
    for user_id, key, attempt_id, kind, points, open_points, comment, late, at, *beneath in (
        # Rows of plain values: thousands of events with all their checks would be megabytes.
        Grade.objects.filter(course=course).values_list(
            "user_id",
            "step",
            "event__attempt_id",
            "event__kind",
            "event__points",
            "event__open_points",
            "event__comment",
            "event__attempt__late_percent",
            "event__attempt__submitted_at",
            "automatic__kind",
            "automatic__points",
            "automatic__attempt__late_percent",
        )
    ):
        if key not in by_step:
            continue
        is_given = kind == GradeEvent.Kind.OVERRIDE
        cells[user_id, key] = Cell(
            points=counts(key, kind, points, late),
            attempt_id=attempt_id,
            open_points=open_points,
            is_given=is_given,
            comment=comment if is_given else "",
            graded=counts(key, *beneath) if is_given and beneath[0] is not None else None,
            is_late=late > 0 or is_late(user_id, key, at),
            late_percent=0 if is_given else late,
        )
    others = Attempt.objects.filter(course=course).exclude(state=State.GRADED).order_by("created_at", "pk")
    for user_id, key, attempt_id, state in others.values_list("user_id", "step", "pk", "state"):
        cell = cells.setdefault((user_id, key), Cell())
        if cell.points is None:
            cell.attempt_id, cell.state = attempt_id, state
        elif state in LIVE:
            cell.state = state
    return cells


def _lateness(
    course: Course, columns: Sequence[Column], rules: Mapping[str, StepRule]
) -> Callable[[int, str, datetime], bool]:
    """Whether a student's submit came after the due minute that holds for them, also where that cost nothing."""
    steps = {column.step.key: column.step for column in columns}
    due = {key: minute_end(rule.due_at) for key, rule in rules.items() if rule.due_at is not None}
    given: dict[int, list[Extension]] = defaultdict(list)
    for row in Extension.objects.filter(course=course).order_by("-pk"):
        given[row.user_id].append(row)

    def is_late(user_id: int, key: str, at: datetime) -> bool:
        if key not in due or at < due[key]:
            return False
        standing = terms(course, steps[key], rules[key], given[user_id]).window.standing(at)
        return standing.door in (Door.LATE, Door.CLOSED)

    return is_late
