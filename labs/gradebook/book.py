"""A course's gradebook: each student's counted points at each step, what they rest on, and their sum."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cache

from django.contrib.auth.models import User
from django.db.models import CharField, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Cast
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

    It is written as the database does, see `dashed`.
    `comment` stands beside points that an instructor gave; `graded` are those that grading alone gave, if any.
    `late_percent` of the points were taken off. `state` is that of an attempt under way, or of the latest one
    where there is no grade.
    """

    points: Decimal | None = None
    attempt_id: str | None = None
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
    """All students, those who left too, by name. Four queries, and two more where a step is due, however large."""
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

    late_ones = _late_without_loss(course, columns, rules)
    cells: dict[tuple[int, str], Cell] = {}
    # Rows of plain values: thousands of events with all their checks would be megabytes. And none that Django has to
    # convert one by one, which takes longer than all the rest of a row.
    for user_id, key, attempt_id, kind, points, open_points, comment, late, *beneath in (
        Grade.objects.filter(course=course)
        .annotate(evidence=_as_text("event__attempt_id"))
        .values_list(
            "user_id",
            "step",
            "evidence",
            "event__kind",
            "event__points",
            "event__open_points",
            "event__comment",
            "event__attempt__late_percent",
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
            is_late=late > 0 or (user_id, key) in late_ones,
            late_percent=0 if is_given else late,
        )
    for user_id, key, attempt_id, state in _others(course):
        cell = cells.setdefault((user_id, key), Cell())
        cell.state = state
        if cell.points is None:
            cell.attempt_id = attempt_id
    return cells


def _as_text(field: str) -> Cast:
    """An attempt's id as the database writes it; `dashed` makes an address of it."""
    return Cast(field, CharField())


def dashed(attempt_id: str) -> str:
    """SQLite keeps the 32 digits alone, Postgres writes them with the dashes that addresses have."""
    if len(attempt_id) != 32:
        return attempt_id
    return "-".join((attempt_id[:8], attempt_id[8:12], attempt_id[12:16], attempt_id[16:20], attempt_id[20:]))


def _others(course: Course) -> QuerySet[Attempt, tuple[int, str, str, str]]:
    """Attempts under way, and those that ended without a grade where there is none; the latest comes last."""
    grade = Grade.objects.filter(course=course, user=OuterRef("user"), step=OuterRef("step"))
    return (
        Attempt.objects.for_grade()
        .filter(course=course, state__in=[state for state in State if state != State.GRADED])
        .filter(Q(state__in=LIVE) | ~Exists(grade))
        .annotate(evidence=_as_text("pk"))
        .order_by("created_at", "pk")
        .values_list("user_id", "step", "evidence", "state")
    )


def _late_without_loss(
    course: Course, columns: Sequence[Column], rules: Mapping[str, StepRule]
) -> set[tuple[int, str]]:
    """Whose counting submit came after the due minute that holds for them, though it cost nothing, as (user, step)."""
    steps = {column.step.key: column.step for column in columns}
    after_due = Q()
    for key, rule in rules.items():
        if rule.due_at is not None and key in steps:
            after_due |= Q(step=key, event__attempt__submitted_at__gte=minute_end(rule.due_at))
    if not after_due:
        return set()
    given: dict[int, list[Extension]] = defaultdict(list)
    for row in Extension.objects.filter(course=course).order_by("-pk"):
        given[row.user_id].append(row)
    submitted = Grade.objects.filter(after_due, course=course, event__attempt__late_percent=0)
    return {
        (user_id, key)
        for user_id, key, at in submitted.values_list("user_id", "step", "event__attempt__submitted_at")
        if terms(course, steps[key], rules[key], given[user_id]).window.standing(at).door
        in (Door.LATE, Door.CLOSED)
    }
