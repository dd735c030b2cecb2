"""Regrading, for the course's instructors: choose limits, look at what would change, apply or cancel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count, Max, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from labs.actions.errors import Refused
from labs.actions.regrade.again import regradable
from labs.actions.regrade.apply import apply, cancel
from labs.actions.regrade.build import build, missing, start
from labs.actions.regrade.report import counts_of, effects_of, kept_of, matrix_of, outdated
from labs.actions.wake import wake
from labs.grading.limits import Limit, Limits
from labs.limits import limits_in_force
from labs.models import Attempt, Course, RegradeRow, RegradeSet
from labs.steps import all_steps
from labs.steps.base import Step
from labs.tasks import build_regrades
from labs.text import N_, Text
from labs.views.guard import course_of_instructor_or_404, step_or_404, who
from labs.views.words import say

# So much is built while the instructor waits; the rest by the background worker.
CHUNKS_AT_ONCE = 2
KEPT_SHOWN = 200

STATES: Mapping[str, Text] = {
    RegradeSet.State.BUILDING: N_("Being built"),
    RegradeSet.State.PREVIEW: N_("Preview: nothing counts yet"),
    RegradeSet.State.APPLIED: N_("Applied"),
    RegradeSet.State.CANCELLED: N_("Cancelled"),
}
KEPT: Mapping[str, Text] = {
    RegradeRow.Kept.FRAMES_PURGED: N_("A rule reads frames that are no longer kept."),
    RegradeRow.Kept.GRADER_ERROR: N_("The grader stopped on a fault of ours."),
    RegradeRow.Kept.NOTHING_RECORDED: N_("Nothing is stored that could be graded."),
    RegradeRow.Kept.CHANGED_MEANWHILE: N_("It was graded anew after the preview."),
}
UNITS: Mapping[str, Text] = {"tokens": N_("tokens"), "percent": N_("percent"), "points": N_("points")}


class StartForm(forms.Form):
    """A field for each limit of the step, and why: the students are told."""

    why = forms.CharField(
        max_length=300,
        label=gettext_lazy("What changes, and why?"),
        help_text=gettext_lazy("Every student whose points change reads this sentence."),
        widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": gettext_lazy("Write what changes and why: the students read it.")},
    )

    def __init__(self, limits: Sequence[Limit], in_force: Limits, data: Any = None) -> None:
        super().__init__(data)
        self.limits = limits
        for limit in limits:
            unit = say(UNITS[limit.unit])
            self.fields[limit.key] = forms.IntegerField(
                min_value=limit.least,
                max_value=limit.most,
                initial=limit.of(in_force),
                label=f"{say(limit.title)} ({unit})",
                help_text=_("The step's own: %(default)s.") % {"default": limit.default},
            )
        self.order_fields([*(limit.key for limit in limits), "why"])

    @property
    def limit_fields(self) -> list[forms.BoundField]:
        return [self[limit.key] for limit in self.limits]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        points = [limit for limit in self.limits if limit.unit == "points"]
        whole = sum(limit.default for limit in points)
        given = [cleaned.get(limit.key) for limit in points]
        if None not in given and sum(filter(None, given)) != whole:
            self.add_error(
                None,
                _("The points of all checks must add up to %(whole)s; these add up to %(sum)s.")
                % {"whole": whole, "sum": sum(filter(None, given))},
            )
        return cleaned

    def values(self) -> dict[str, int]:
        return {limit.key: self.cleaned_data[limit.key] for limit in self.limits}


@dataclass(frozen=True, slots=True)
class StepLine:
    """A step of the course with how many attempts can be graded again, and its sets."""

    step: Step
    attempts: int
    newest: RegradeSet | None

    @property
    def state_word(self) -> Text | None:
        return STATES[self.newest.state] if self.newest else None


@dataclass(frozen=True, slots=True)
class ChangedLimit:
    title: Text
    unit: Text
    before: int
    after: int


@login_required
@never_cache
@require_safe
def regrades(request: HttpRequest, course_slug: str) -> HttpResponse:
    """The course's steps, each with its newest set."""
    course = course_of_instructor_or_404(request, course_slug)
    counted = (
        Attempt.objects.for_grade().filter(course=course).order_by().values("step").annotate(all=Count("pk"))
    )
    attempts = {row["step"]: row["all"] for row in counted}
    newest_ids = RegradeSet.objects.filter(course=course).order_by().values("step").annotate(newest=Max("pk"))
    newest = {s.step: s for s in RegradeSet.objects.filter(pk__in=[row["newest"] for row in newest_ids])}
    lines = [StepLine(s, attempts.get(key, 0), newest.get(key)) for key, s in all_steps().items()]
    return render(request, "labs/regrades.html", {"course": course, "lines": lines})


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def regrade_step(request: HttpRequest, course_slug: str, step_key: str) -> HttpResponse:
    """The form that begins a set, and the sets so far."""
    course, step = course_of_instructor_or_404(request, course_slug), step_or_404(step_key)
    in_force = limits_in_force(course.pk, step.key)
    limits, posted = step.all_limits(), request.POST if request.method == "POST" else None
    form = StartForm(limits, in_force.values, posted)
    problem: Text | None = None
    if posted is not None and form.is_valid():
        try:
            regrade = start(course, step, who(request), form.cleaned_data["why"], form.values())
        except Refused as error:
            problem = error.text
        else:
            if not build(regrade, chunks=CHUNKS_AT_ONCE):
                wake(build_regrades)
            return redirect("regrade", course.slug, regrade.pk)
    sets = RegradeSet.objects.filter(course=course, step=step.key).select_related("by", "ended_by")
    context = {
        "course": course,
        "step": step,
        "form": form,
        "problem": problem,
        "sets": [(regrade, STATES[regrade.state]) for regrade in sets],
        "open": next((regrade for regrade in sets if regrade.is_open), None),
        "attempts": regradable(course.pk, step.key).count(),
        "outdated": outdated(course.pk, step.key, step.version, in_force.version),
        "limits_version": in_force.version,
    }
    return render(request, "labs/regrade_step.html", context, status=422 if posted is not None else 200)


@login_required
@never_cache
@require_safe
def regrade(request: HttpRequest, course_slug: str, regrade_id: int) -> HttpResponse:
    """One set: how far it is built, old by new, who would lose, what is kept."""
    course = course_of_instructor_or_404(request, course_slug)
    found = _set_or_404(course, regrade_id)
    step = step_or_404(found.step)
    effects, kept = effects_of(found), kept_of(found)
    done = found.rows.count()
    context = {
        "course": course,
        "step": step,
        "set": found,
        "state_word": STATES[found.state],
        "limits": _changed_limits(step, course, found),
        "done": done,
        "all": done + missing(found).count(),
        "counts": counts_of(found),
        "matrix": matrix_of(found),
        "losers": [effect for effect in effects if effect.loses],
        "others": [effect for effect in effects if not effect.loses],
        "kept": [(row, KEPT[row.kept]) for row in kept[:KEPT_SHOWN]],
        "kept_more": max(0, len(kept) - KEPT_SHOWN),
    }
    return render(request, "labs/regrade.html", context)


@login_required
@require_POST
def regrade_end(request: HttpRequest, course_slug: str, regrade_id: int) -> HttpResponse:
    """`do` is 'apply' or 'cancel'. Whoever comes second is told what the set is by now."""
    course = course_of_instructor_or_404(request, course_slug)
    found = _set_or_404(course, regrade_id)
    match request.POST.get("do"):
        case "apply":
            done, said = apply(found, who(request)), _("The regrade is applied: the new points count.")
        case "cancel":
            done, said = cancel(found, who(request)), _("The regrade is cancelled. No points have changed.")
        case _:
            raise Http404
    if done:
        messages.success(request, said)
    else:
        found.refresh_from_db()
        messages.warning(request, _("Nothing was changed, for it is: %s") % say(STATES[found.state]))
    return redirect("regrade", course.slug, found.pk)


def _set_or_404(course: Course, pk: int) -> RegradeSet:
    found: QuerySet[RegradeSet] = RegradeSet.objects.select_related("by", "ended_by")
    regrade = found.filter(course=course, pk=pk).first()
    if regrade is None:
        raise Http404
    return regrade


def _changed_limits(step: Step, course: Course, found: RegradeSet) -> list[ChangedLimit]:
    """What the set changes in the limits that were in force when it was begun."""
    of_step = course.limits.filter(step=step.key)
    if of_step.filter(version=found.limits_version, created_at__lt=found.created_at).exists():
        return []  # it was built with those in force
    row = of_step.filter(version=found.limits_version - 1).first()
    before: Limits = row.values if row else {}
    return [
        ChangedLimit(limit.title, UNITS[limit.unit], limit.of(before), limit.of(found.limits))
        for limit in step.all_limits()
        if limit.of(before) != limit.of(found.limits)
    ]
