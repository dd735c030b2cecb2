"""What the step page and its live fragment are made of."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import get_language

from labs.actions.demo import is_any_shown
from labs.actions.openings import Openings, openings
from labs.actions.pauses import paused_everywhere
from labs.live.status import Status, statuses
from labs.models import AUTOMATIC, Attempt, Course, GradeEvent, Role, State
from labs.practice import Quota, quota_of
from labs.rules.window import Door
from labs.sheets import Sheet, sheet_for
from labs.steps.base import Step, StepForm
from labs.terms import terms_of
from labs.text import Text
from labs.views.content import theory
from labs.views.due import ShownTerms
from labs.views.shown import ShownAttempt
from labs.views.steplist import course_rows
from labs.views.strings import strings
from labs.views.waits import why_shut

PAST_SHOWN = 30


@dataclass(frozen=True, slots=True)
class ShownPractice:
    """What a student reads before they practise. `pass_s`: what one clean pass of the step takes, as declared."""

    quota: Quota
    pass_ms: int

    @property
    def pass_s(self) -> int:
        return max(1, round(self.pass_ms / 1000))


def step_context(
    user: User,
    course: Course,
    step: Step,
    *,
    form: StepForm | None = None,
    problem: Text | None = None,
    practice: bool = False,
    role: Role,
) -> dict[str, Any]:
    """`form` is a refused one with the answers kept; `problem` a sentence about the whole POST. `practice`: the form of
    a practice attempt is wanted, where none is under way. `role`: as what `user` may see the course."""
    terms = terms_of(user, [course], {course.pk: role})
    now = timezone.now()
    servers = openings()
    has_ended = course.has_ended(now)
    practice = practice and course.practice_s > 0 and not has_ended
    here = terms[course.pk, step.key]
    # One that is under way is the newest, for none begins beside it.
    past = list(_past(user, course, step, hides_scores=here.hides_scores(now))[:PAST_SHOWN])
    sheet = sheet_for(user, course, step, here, past, practice=practice)
    due = ShownTerms(here, now, *sheet.standing(now))
    latest = next((a for a in past if sheet.attempt is None or a.pk == sheet.attempt.pk), None)
    shown = _shown(sheet, latest, past, hides_scores=due.hides_scores)
    return {
        "course": course,
        "step": step,
        "row": course_rows(user, [course], terms)[0],
        "theory": theory(step.key, get_language() or "en"),
        "sheet": sheet,
        "shown": shown,
        "past": past,
        "due": due,
        "form": None if has_ended else _kept_form(sheet, due, form) or _form(sheet, shown, due),
        "has_ended": has_ended,
        "exhibits": sheet.round.exhibits(sheet.challenge, sheet.seen) if sheet.round is not None else (),
        "problem": problem,
        "paused": paused_everywhere(step, servers.answering),
        "shut": ""
        if shown is not None and shown.is_live
        else why_shut(servers.shut(course.pk, step.key), course),
        "practice": None if has_ended else _practice(sheet, due),
        "submit_key": uuid.uuid4(),
        "is_any_shown": is_any_shown(course, step.key),
        "may_rerun": step.rerun is not None and role is Role.INSTRUCTOR,
        "is_next_round": sheet.attempt is not None,
        "on": "step",
        "is_owner": True,
        "now": now_of(shown, servers),
        "strings": strings(),
    }


def _practice(sheet: Sheet, due: ShownTerms) -> ShownPractice | None:
    """None where nobody may practise now."""
    if sheet.attempt is None:
        is_closed = due.door is Door.EARLY or bool(sheet.waits_for) or not sheet.course.practice_s
    else:
        is_closed = not sheet.practice
    if is_closed:
        return None
    return ShownPractice(quota_of(sheet.user, sheet.course), sheet.step.budget_ms)


def now_of(shown: ShownAttempt | None, servers: Openings | None = None) -> Status | None:
    """Place and wait of a live attempt, as the live path would say it."""
    if shown is None or not shown.is_live:
        return None
    return statuses([shown.attempt.pk], servers).get(shown.attempt.pk)


def _past(user: User, course: Course, step: Step, *, hides_scores: bool) -> QuerySet[Attempt]:
    attempts = Attempt.objects.filter(user=user, course=course, step=step.key).order_by("-created_at")
    if hides_scores:
        return attempts
    event = GradeEvent.objects.filter(attempt=OuterRef("pk"), kind__in=AUTOMATIC).order_by(
        "-created_at", "-pk"
    )
    return attempts.annotate(
        points=Subquery(event.values("points")[:1]),
        open_points=Subquery(event.values("open_points")[:1]),
        kind=Subquery(event.values("kind")[:1]),
    )


def _shown(
    sheet: Sheet, latest: Attempt | None, past: list[Attempt], *, hides_scores: bool
) -> ShownAttempt | None:
    if latest is None:
        return None
    tries = sum(attempt.state == State.GRADED and not attempt.practice for attempt in past)
    return ShownAttempt(latest, sheet.step, tries, sheet.stored, hides_scores=hides_scores)


def _kept_form(sheet: Sheet, due: ShownTerms, form: StepForm | None) -> StepForm | None:
    """A refused form comes back with its answers, but never before the step opens: it shows what is asked."""
    return None if due.door is Door.EARLY and sheet.attempt is None else form


def _form(sheet: Sheet, shown: ShownAttempt | None, due: ShownTerms) -> StepForm | None:
    is_shut = due.door is Door.EARLY if sheet.practice else due.is_shut or sheet.attempts_left == 0
    if sheet.round is None or sheet.waits_for or (sheet.attempt is None and is_shut):
        return None
    form = sheet.form()
    if (
        sheet.attempt is None
        and shown is not None
        and (before := shown.seen.get(sheet.round.key)) is not None
    ):
        # An uncharged repeat has the same inputs, so what was typed still fits them. Practice never has.
        has_new_inputs = (
            shown.attempt.charged
            or shown.attempt.practice
            or sheet.practice
            or sheet.is_of_others(shown.attempt)
        )
        kept = sheet.round.keeps if has_new_inputs else before.answers.keys()
        form.initial = {name: before.answers[name] for name in kept}
    return form
