"""One step: look at it, submit a round."""

from __future__ import annotations

import uuid

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from labs.actions.errors import InvalidAnswers, NotFound, Refused
from labs.actions.submit import submit
from labs.models import Course, Role
from labs.sheets import sheet_for
from labs.steps.base import Step, StepForm
from labs.text import N_, Text
from labs.views.bundle import permit_bundle
from labs.views.guard import course_and_role_or_404, step_or_404, who
from labs.views.step_page import step_context

STALE = N_("This page had lost its place. Your answers are kept: please press Run again.")


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def step(request: HttpRequest, course_slug: str, step_key: str) -> HttpResponse:
    (course, role), step_ = course_and_role_or_404(request, course_slug), step_or_404(step_key)
    if request.method == "POST":
        return _submit(request, course, role, step_)
    context = step_context(who(request), course, step_, practice="practice" in request.GET, role=role)
    response = render(request, "labs/step.html", context)
    return permit_bundle(request, response, step_)


def _submit(request: HttpRequest, course: Course, role: Role, step_: Step) -> HttpResponse:
    """Redirects after success, so that reloading sends nothing twice; else the same page with the answers kept."""
    user = who(request)
    round_key = request.POST.get("round", "")
    try:
        key = uuid.UUID(request.POST.get("submit_key", ""))
    except ValueError:
        return _again(request, course, role, step_, 409, problem=STALE)
    try:
        percent, practice = _agreed_percent(request), "practice" in request.POST
        submit(user, course, step_, round_key, request.POST, key, percent, practice=practice)
    except InvalidAnswers as error:
        return _again(request, course, role, step_, 422, form=error.form)
    except Refused as error:
        return _again(request, course, role, step_, 409, problem=error.text)
    except NotFound as error:
        raise Http404 from error
    return redirect(reverse("step", args=[course.slug, step_.key]) + "#run")


def _agreed_percent(request: HttpRequest) -> int:
    """What the page said that running costs, in percent of the points; 0 where it said nothing."""
    said = request.POST.get("late_percent", "")
    return int(said) if said.isascii() and said.isdigit() and len(said) <= 3 else 0


def _again(
    request: HttpRequest,
    course: Course,
    role: Role,
    step_: Step,
    status: int,
    *,
    form: StepForm | None = None,
    problem: Text | None = None,
) -> HttpResponse:
    user, practice = who(request), "practice" in request.POST
    if form is None:
        sheet = sheet_for(user, course, step_, practice=practice)
        if sheet.round is not None and sheet.round.key == request.POST.get("round"):
            form = sheet.form(request.POST)
    context = step_context(user, course, step_, form=form, problem=problem, practice=practice, role=role)
    response = render(request, "labs/step.html", context, status=status)
    return permit_bundle(request, response, step_)
