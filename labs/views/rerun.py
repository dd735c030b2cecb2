"""Re-run the class: every stored source of a step runs in the instructor's own browser. It flags, no more."""

from __future__ import annotations

import random
import secrets
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from labs.models import Course
from labs.reruns import Difference, StoredAnswer, alike, differences, stored_answers
from labs.steps.base import Rerun, Step
from labs.text import Json
from labs.views.guard import course_of_instructor_or_404, step_or_404
from labs.views.sealed import permit_frame
from labs.views.words import VERDICTS, say

SALT = "labs.rerun"
# A page that lies open longer draws new streams when it is opened again.
OLDEST_S = 24 * 60 * 60


@login_required
@never_cache
@require_safe
def rerun(request: HttpRequest, course_slug: str, step_key: str) -> HttpResponse:
    course, step, again = _asked(request, course_slug, step_key)
    answers, seed = stored_answers(course, step), secrets.token_urlsafe(16)
    groups = alike(answers, again.shape)
    unreadable = groups.get("", [])
    numbered = [group for key, group in groups.items() if key]
    context = {
        "course": course,
        "step": step,
        "bundle": again.bundle,
        "rows": [{"answer": one, "group": _group_of(one, numbered)} for one in answers],
        "groups": numbered,
        "unreadable": unreadable,
        "data": {
            "streams": again.inputs(_rng(seed)),
            "sources": {str(one.attempt.pk): one.text for one in answers},
            "token": signing.dumps([course.pk, step.key, seed], salt=SALT),
            "strings": _strings(),
        },
    }
    return permit_frame(request, render(request, "labs/rerun.html", context))


@login_required
@never_cache
@require_POST
def rerun_one(request: HttpRequest, course_slug: str, step_key: str, attempt_id: UUID) -> HttpResponse:
    """What one source gave in the instructor's browser, judged and compared. Nothing is stored."""
    course, step, again = _asked(request, course_slug, step_key)
    found = stored_answers(course, step, attempt_id)
    if not found:
        raise Http404
    answer = found[0]
    try:
        inputs = again.inputs(_rng(_seed(request.POST.get("token", ""), course, step)))
        now = again.checks(inputs, answer.text, request.POST.get("results", ""))
    except (signing.BadSignature, ValueError):
        return HttpResponse(status=400)
    return JsonResponse({"differences": [_said(one) for one in differences(answer.checks, now)]})


def _asked(request: HttpRequest, course_slug: str, step_key: str) -> tuple[Course, Step, Rerun]:
    course, step = course_of_instructor_or_404(request, course_slug), step_or_404(step_key)
    if step.rerun is None:
        raise Http404
    return course, step, step.rerun


def _rng(seed: str) -> random.Random:
    return random.Random(seed)  # noqa: S311


def _seed(token: str, course: Course, step: Step) -> str:
    """Raises signing.BadSignature for a token that this page has not been given."""
    course_pk, step_key, seed = signing.loads(token, salt=SALT, max_age=OLDEST_S)
    if (course_pk, step_key) != (course.pk, step.key):
        raise signing.BadSignature("of another page")
    return str(seed)


def _group_of(answer: StoredAnswer, groups: list[list[StoredAnswer]]) -> int | None:
    return next((number for number, group in enumerate(groups, 1) if answer in group), None)


def _said(one: Difference) -> Json:
    stored, now = (say(VERDICTS[v]) if v else _("not run") for v in (one.stored, one.now))
    return {
        "title": say(one.title),
        "said": _("stored: %(stored)s, now: %(now)s.") % {"stored": stored, "now": now},
        "why": say(one.reason),
    }


def _strings() -> dict[str, str]:
    return {
        "starting": _("Python is starting…"),
        "ready": _("Python %(version)s is ready."),
        "running": _("Source %(number)s of %(all)s is running…"),
        "unsealed": _(
            "Python was not started: it is not sealed off from the network here (a header is missing on the way)."
        ),
        "unavailable": _("Python does not start in this browser (%(why)s)."),
        "agrees": _("as stored"),
        "killed": _("This source did not come back for 4 s and was ended."),
        "not_run": _("This source could not be run again (%(why)s)."),
        "done": _("%(all)s sources ran; %(differ)s of them do not give what was stored."),
        "done_failed": _(
            "%(all)s sources, %(differ)s of which do not give what was stored; %(failed)s could not be run."
        ),
    }
