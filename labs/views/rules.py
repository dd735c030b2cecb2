"""A course's rules, for its instructors: when a step opens and is due, what late costs, and who has more time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from labs.actions.errors import Refused
from labs.actions.practice import set_quota
from labs.actions.rules import extend, release_scores, set_rule
from labs.models import Course, Extension, StepRule
from labs.rules.window import Late
from labs.steps import all_steps
from labs.steps.base import Step
from labs.terms import Key, Terms, rules_in_force, terms
from labs.text import N_, Text
from labs.views.guard import course_of_instructor_or_404, step_or_404, who
from labs.views.rules_forms import ExtensionForm, QuotaForm, RuleForm

SHOWN = 500

LATE: Mapping[str, Text] = {
    Late.REFUSED: N_("nothing is taken"),
    Late.REDUCED: N_("minus %(percent)s%% a day begun, %(floor)s%% stay"),
    Late.ACCEPTED: N_("counts in full"),
}


@dataclass(frozen=True, slots=True)
class RuleLine:
    """A step of the course with what holds for its class. `rule` None: nothing is set."""

    step: Step
    terms: Terms
    rule: StepRule | None
    late: Text | None
    is_held: bool


@dataclass(frozen=True, slots=True)
class ExtensionLine:
    """`due_at`: what the row makes of the class's present due time, where it speaks of one step and of its due."""

    row: Extension
    title: Text | None
    due_at: datetime | None


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def rules(request: HttpRequest, course_slug: str) -> HttpResponse:
    """What holds at each step, and the form of what holds for the whole course: the quota of practice."""
    course = course_of_instructor_or_404(request, course_slug)
    posted = request.POST if request.method == "POST" else None
    form = QuotaForm(course, posted)
    if posted is not None and form.is_valid():
        set_quota(course, form.cleaned_data["practice_s"], who(request))
        messages.success(request, _("The practice time is in force."))
        return redirect("rules", course.slug)
    lines = _lines(course, list(all_steps().values()))
    context = {"course": course, "lines": lines, "form": form}
    return render(request, "labs/rules.html", context, status=422 if posted is not None else 200)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def rule_step(request: HttpRequest, course_slug: str, step_key: str) -> HttpResponse:
    """The form with what is in force, and who set what before."""
    course, step = course_of_instructor_or_404(request, course_slug), step_or_404(step_key)
    posted = request.POST if request.method == "POST" else None
    (line,) = _lines(course, [step])
    form = RuleForm(course, step, line.rule, posted)
    if posted is not None and form.is_valid():
        set_rule(form.row(who(request)))
        messages.success(request, _("The rules of this step are in force."))
        return redirect("rules", course.slug)
    rows = StepRule.objects.filter(course=course, step=step.key).select_related("by").order_by("-pk")
    context = {
        "course": course,
        "step": step,
        "form": form,
        "line": line,
        "rows": [(row, _late(row)) for row in rows[:SHOWN]],
    }
    return render(request, "labs/rule_step.html", context, status=422 if posted is not None else 200)


@login_required
@require_POST
def release(request: HttpRequest, course_slug: str, step_key: str) -> HttpResponse:
    course, step = course_of_instructor_or_404(request, course_slug), step_or_404(step_key)
    if release_scores(course, step, who(request)):
        messages.success(request, _("The points and verdicts of this step are released."))
    else:
        messages.warning(request, _("Nothing was held back here."))
    return redirect("rules", course.slug)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def extensions(request: HttpRequest, course_slug: str) -> HttpResponse:
    """Who was given more, by whom and why; and the form that gives it."""
    course = course_of_instructor_or_404(request, course_slug)
    posted, problem = (request.POST if request.method == "POST" else None), None
    form = ExtensionForm(course, posted)
    if posted is not None and form.is_valid():
        given = form.cleaned_data
        try:
            extend(course, given["student"], form.step, form.given(), given["why"], who(request))
        except Refused as error:
            problem = error.text
        else:
            messages.success(request, _("The extension is given; the student sees it on the step's page."))
            return redirect("extensions", course.slug)
    rows = Extension.objects.filter(course=course).select_related("user", "by").order_by("-pk")[:SHOWN]
    in_force = rules_in_force([course])
    context = {
        "course": course,
        "form": form,
        "problem": problem,
        "lines": [_extension_line(course, row, in_force) for row in rows],
    }
    return render(request, "labs/extensions.html", context, status=422 if posted is not None else 200)


def _lines(course: Course, steps: Sequence[Step]) -> list[RuleLine]:
    in_force, now = rules_in_force([course]), timezone.now()
    found = []
    for step in steps:
        rule = in_force.get((course.pk, step.key))
        held = terms(course, step, rule, ())
        found.append(RuleLine(step, held, rule, _late(rule), held.hides_scores(now)))
    return found


def _late(rule: StepRule | None) -> Text | None:
    if rule is None or rule.due_at is None:
        return None
    text = LATE[rule.late]
    if rule.late != Late.REDUCED:
        return text
    return N_(text.msgid, percent=rule.late_percent_a_day, floor=rule.late_floor_percent)


def _extension_line(course: Course, row: Extension, in_force: Mapping[Key, StepRule]) -> ExtensionLine:
    step = all_steps().get(row.step)
    if step is None or not row.is_of_due:
        return ExtensionLine(row, step.title if step else None, None)
    window = terms(course, step, in_force.get((course.pk, step.key)), [row]).window
    return ExtensionLine(row, step.title, window.due_at)
