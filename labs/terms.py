"""Read side of the rules: what holds for one person at each step, their extensions included."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.contrib.auth.models import AnonymousUser, User

from labs.models import Attempt, Course, Enrolment, Extension, GradeEvent, Role, StepRule
from labs.rules.clock import days_on
from labs.rules.score import counted, shortest
from labs.rules.window import Late, Window
from labs.steps import all_steps
from labs.steps.base import Step

Key = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Terms:
    """`worth`: what the step's points count in the course. `extensions`: those in force, newest first.

    `holds_scores`: this person sees no points and no verdicts before `release_at`, or, where that is None, before
    an instructor releases them. Instructors have no window and see everything.
    """

    window: Window
    attempts: int
    worth: int
    holds_scores: bool = False
    release_at: datetime | None = None
    extensions: Sequence[Extension] = ()

    def hides_scores(self, now: datetime) -> bool:
        return hides(self.holds_scores, self.release_at, now)


def hides(holds_scores: bool, release_at: datetime | None, now: datetime) -> bool:
    return holds_scores and (release_at is None or now < release_at)


def rules_in_force(courses: Iterable[Course]) -> dict[Key, StepRule]:
    """By course and step. One query."""
    return {
        (rule.course_id, rule.step): rule
        for rule in StepRule.objects.filter(course__in=list(courses)).order_by("pk")
    }


def held_steps(course: Course, now: datetime) -> set[str]:
    """Keys of the steps whose points and verdicts the course's students may not see yet. One query."""
    return {
        step
        for (_course_id, step), rule in rules_in_force([course]).items()
        if hides(rule.holds_scores, rule.release_at, now)
    }


def is_held(course: Course, step_key: str, now: datetime) -> bool:
    """Whether the course's students may not see this step's points now. One query."""
    return step_key in held_steps(course, now)


def terms_of(
    user: User | AnonymousUser, courses: Iterable[Course], roles: Mapping[int, Role] | None = None
) -> dict[Key, Terms]:
    """By course and step, for every step there is. Three queries, however many courses, and one more where there are
    extensions. `roles`: as what the user stands in each of them, where that was asked already; a query less."""
    courses = list(courses)
    rules = rules_in_force(courses)
    given: dict[int, list[Extension]] = defaultdict(list)
    rows = Extension.objects.filter(user=user.pk, course__in=courses).prefetch_related("by").order_by("-pk")
    for row in rows:
        given[row.course_id].append(row)
    roles = Enrolment.objects.roles_of(user, courses) if roles is None else roles
    taught = {course_id for course_id, role in roles.items() if role is Role.INSTRUCTOR}
    return {
        (course.pk, step.key): terms(
            course, step, rules.get((course.pk, step.key)), given[course.pk], is_free=course.pk in taught
        )
        for course in courses
        for step in all_steps().values()
    }


def terms_for(user: User | AnonymousUser, course: Course, step: Step) -> Terms:
    return terms_of(user, [course])[course.pk, step.key]


def terms(
    course: Course, step: Step, rule: StepRule | None, given: Iterable[Extension], *, is_free: bool = False
) -> Terms:
    """`given`: a person's extensions in the course, newest first. `is_free`: who teaches is bound by no time."""
    attempts = course.attempts_per_step if rule is None or rule.attempts is None else rule.attempts
    worth = worth_of(step, rule)
    mine = [row for row in given if row.step in ("", step.key)]
    of_due = next((row for row in mine if row.is_of_due), None)
    of_attempts = next((row for row in mine if row.extra_attempts is not None), None)
    if of_attempts is not None:
        attempts += of_attempts.extra_attempts or 0
    if is_free or rule is None:
        return Terms(Window(course.zone), attempts, worth, extensions=_in_force(None, of_attempts))
    window = _window(rule)
    if of_due is not None and window.due_at is not None:
        window = window.extended(_extended_due(of_due, window.due_at, window.zone))
    return Terms(
        window,
        attempts,
        worth,
        rule.holds_scores,
        rule.release_at,
        _in_force(of_due if window.due_at != rule.due_at else None, of_attempts),
    )


def worth_of(step: Step, rule: StepRule | None) -> int:
    """What the step's points count in the course."""
    return step.points if rule is None or rule.points is None else rule.points


def counted_points(event: GradeEvent, attempt: Attempt, step: Step, worth: int) -> Decimal:
    """What a grade's event counts in its course."""
    return points_that_count(event.kind, event.points, attempt.late_percent, step, worth)


def points_that_count(kind: str, points: int, late_percent: int, step: Step, worth: int) -> Decimal:
    """The one place where lateness and the course's scale come in.

    An instructor's own points are never reduced for lateness.
    """
    late = 0 if kind == GradeEvent.Kind.OVERRIDE else late_percent
    return counted(points, late, step.points, worth)


def total(points: Iterable[Decimal | None]) -> Decimal:
    """A student's points in a course: on their own pages, in the gradebook, and in what it gives out."""
    return shortest(sum((one for one in points if one is not None), Decimal(0)))


def _window(rule: StepRule) -> Window:
    return Window(
        rule.zone,
        rule.opens_at,
        rule.due_at,
        Late(rule.late),
        rule.late_percent_a_day,
        rule.late_floor_percent,
        rule.ends_at,
    )


def _extended_due(row: Extension, due_at: datetime, zone: str) -> datetime:
    return row.due_at if row.due_at is not None else days_on(due_at, row.days or 0, zone)


def _in_force(of_due: Extension | None, of_attempts: Extension | None) -> list[Extension]:
    """Each row once."""
    if of_attempts is not None and not of_attempts.extra_attempts:
        of_attempts = None
    found = {row.pk: row for row in (of_due, of_attempts) if row is not None}
    return [found[pk] for pk in sorted(found, reverse=True)]
