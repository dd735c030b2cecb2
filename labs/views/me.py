"""A person's own page: what counts and why, what is due and what it costs, what changed, and who looked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import F, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from labs.access import courses_of, only_course
from labs.actions.notify import mark_read
from labs.boards import code_name
from labs.ends import erases_at
from labs.grading.checks import Check
from labs.models import (
    Attempt,
    AttemptCount,
    BoardName,
    Course,
    Enrolment,
    Grade,
    GradeEvent,
    RegradeRow,
    RegradeSet,
    Role,
    State,
    Viewing,
)
from labs.sheets import REPEAT_WITHIN, after_a_fault
from labs.steps import all_steps
from labs.terms import Key, Terms, terms_of
from labs.text import Text
from labs.views.due import ShownTerms
from labs.views.guard import LOOKS_LIKE_AN_ID, who
from labs.views.notices import notices_of, shown_notices
from labs.views.steplist import CourseRow, StepRow, course_rows
from labs.views.strings import strings
from labs.views.words import VERDICTS

NOTICES, CHANGES, VIEWINGS = 50, 50, 50


@dataclass(frozen=True, slots=True)
class Reason:
    verdict: str
    word: Text
    title: Text
    reason: Text


@dataclass(frozen=True, slots=True)
class StepLine:
    """`event` is what counts, None where nothing does or it may not be known yet."""

    row: StepRow
    due: ShownTerms
    attempts_left: int
    event: GradeEvent | None
    reasons: Sequence[Reason]


@dataclass(frozen=True, slots=True)
class Change:
    """A regrade gave an attempt of theirs other points."""

    row: RegradeRow
    title: Text | str


@dataclass(frozen=True, slots=True)
class CoursePart:
    row: CourseRow
    lines: Sequence[StepLine]
    changes: Sequence[Change]
    is_student: bool
    name: BoardName | None
    code_name: str
    has_ended: bool
    erases_at: datetime | None


@login_required
@never_cache
@require_safe
def me(request: HttpRequest) -> HttpResponse:
    user = who(request)
    courses = list(courses_of(user).order_by("title"))
    terms = terms_of(user, courses)
    notices = list(notices_of(user).select_related("course", "by", "attempt")[:NOTICES])
    context = {
        "parts": _parts(user, courses, terms),
        "notices": shown_notices(notices, terms),
        "newest": notices[0].pk if notices else 0,
        "viewings": _viewings(user),
        "strings": strings(),
    }
    return render(request, "labs/me.html", context)


@login_required
@require_POST
def read(request: HttpRequest) -> HttpResponse:
    """All that the page showed; what came since stays new."""
    newest = request.POST.get("newest", "")
    if LOOKS_LIKE_AN_ID.fullmatch(newest):
        mark_read(who(request), upto=int(newest))
    return redirect("me")


def _viewings(user: User) -> Sequence[Viewing]:
    found = Viewing.objects.filter(whom=user).select_related("by", "course")
    only = only_course(user)
    return list((found if only is None else found.filter(course=only))[:VIEWINGS])


def _parts(user: User, courses: Sequence[Course], terms: Mapping[Key, Terms]) -> list[CoursePart]:
    """Seven queries, however many courses and steps."""
    now = timezone.now()
    mine = {"user": user, "course__in": courses}
    counts = {
        (course_id, step): charged
        for course_id, step, charged in AttemptCount.objects.filter(**mine).values_list(
            "course_id", "step", "charged"
        )
    }
    grades = {
        (grade.course_id, grade.step): grade
        for grade in Grade.objects.filter(**mine).select_related("event", "automatic")
    }
    faults = _faults(mine, counts, now)
    changes = _changes(user, terms, now)
    names = {name.course_id: name for name in BoardName.objects.filter(**mine)}
    roles = dict(Enrolment.objects.active().filter(**mine).values_list("course_id", "role"))
    return [
        CoursePart(
            row,
            [
                _line(
                    step,
                    now,
                    counts.get(key, 0),
                    grades.get(key),
                    faults.get(key),
                )
                for step in row.steps
                for key in [(row.course.pk, step.step.key)]
            ],
            changes[row.course.pk],
            roles.get(row.course.pk) == Role.STUDENT,
            names.get(row.course.pk),
            code_name(row.course.pk, user.pk),
            row.course.has_ended(now),
            erases_at(row.course),
        )
        for row in course_rows(user, courses, terms)
    ]


def _line(
    row: StepRow, now: datetime, charged: int, grade: Grade | None, first_at: datetime | None
) -> StepLine:
    due = ShownTerms(row.terms, now, *after_a_fault(row.terms.window, now, first_at))
    left = max(0, row.terms.attempts - charged)
    if grade is None or due.hides_scores:
        return StepLine(row, due, left, None, ())
    graded = grade.graded
    checks = [Check.from_json(check) for check in (graded.checks if graded else ())]
    reasons = [Reason(check.verdict, VERDICTS[check.verdict], check.title, check.reason) for check in checks]
    return StepLine(row, due, left, grade.event, reasons)


def _faults(mine: Mapping[str, Any], counts: Mapping[Key, int], now: datetime) -> dict[Key, datetime]:
    """When the attempt came that a fault of the server ended and that a new one would repeat."""
    ended = Attempt.objects.for_grade().filter(
        **mine,
        charged=False,
        state__in=[State.ERRORED, State.GRADED],
        finished_at__gt=now - REPEAT_WITHIN,
    )
    found: dict[Key, datetime] = {}
    for course_id, step, number, at in ended.order_by("-submitted_at").values_list(
        "course_id", "step", "seed_number", "submitted_at"
    ):
        if number == counts.get((course_id, step), 0):
            found[course_id, step] = at
    return found


def _changes(user: User, terms: Mapping[Key, Terms], now: datetime) -> dict[int, list[Change]]:
    """By course, newest first. Nothing of a step whose points are held back."""
    rows = (
        RegradeRow.objects.filter(
            Q(old_points=None) | ~Q(points=F("old_points")),
            attempt__user=user,
            kept="",
            set__state=RegradeSet.State.APPLIED,
        )
        .select_related("set", "attempt")
        .order_by("-set__ended_at", "-pk")
    )
    found: dict[int, list[Change]] = defaultdict(list)
    for row in rows[:CHANGES]:
        here = terms.get((row.attempt.course_id, row.attempt.step))
        if here is not None and not here.hides_scores(now):
            step = all_steps().get(row.attempt.step)
            title = step.title if step else row.attempt.step
            found[row.attempt.course_id].append(Change(row, title))
    return found
