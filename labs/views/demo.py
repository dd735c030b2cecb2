"""The run that a class is shown at a step: to watch, without a name and without a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from labs.access import may_see
from labs.actions import demo as verbs
from labs.actions.errors import Refused
from labs.measure.recording import Recording
from labs.models import Course, DemoRun, FrameStore, Role, Run
from labs.steps.base import Step
from labs.views.attempt import frames_file
from labs.views.guard import attempt_or_404, course_of_instructor_or_404, course_or_404, step_or_404, who
from labs.views.replay import replay_json
from labs.views.shown_run import ShownRecording, Streams, titles_of
from labs.views.strings import strings
from labs.views.words import say


class NoteForm(forms.Form):
    note = forms.CharField(
        required=False,
        max_length=verbs.LONGEST_NOTE,
        label=gettext_lazy("What should the class look at?"),
        help_text=gettext_lazy("The class reads it above the replay. Empty: nothing."),
    )


@dataclass(frozen=True)
class ShownDemo:
    """What there is to watch. Nothing here says whose it is: no name, no answers, no verdict, no attempt."""

    demo: DemoRun

    @cached_property
    def asks(self) -> Sequence[ShownRecording]:
        run = self.demo.run
        titles = titles_of(run.round.plan)
        kept = run.recordings.filter(Exists(FrameStore.objects.filter(pk=OuterRef("pk"))))
        found = [(row.key, Recording.from_json(row.data)) for row in kept]
        return [
            ShownRecording(titles.get(key), recording, True)
            for key, recording in found
            if recording.kind == "ask"
        ]

    @property
    def streams(self) -> list[Streams]:
        return [Streams(_("The class's run"), 1, self.asks)] if self.asks else []


@login_required
@never_cache
@require_safe
def demo(request: HttpRequest, course_slug: str, step_key: str) -> HttpResponse:
    course, step, found = _demo_or_404(request, course_slug, step_key)
    context = {
        "course": course,
        "step": step,
        "demo": found,
        "shown": ShownDemo(found),
        "may_withdraw": may_see(who(request), course) is Role.INSTRUCTOR,
        "strings": strings(),
    }
    return render(request, "labs/demo.html", context)


@login_required
@never_cache
@require_safe
def demo_replay(request: HttpRequest, course_slug: str, step_key: str, key: str) -> JsonResponse:
    return replay_json(_store_or_404(request, course_slug, step_key, key))


@login_required
@never_cache
@require_safe
def demo_frames(request: HttpRequest, course_slug: str, step_key: str, key: str) -> HttpResponse:
    return frames_file(_store_or_404(request, course_slug, step_key, key), f"{step_key}-shown-{key}.txt")


@login_required
@require_POST
def demo_show(request: HttpRequest, attempt_id: UUID, number: int) -> HttpResponse:
    """An instructor's own run, or one of their students'."""
    attempt, _step = attempt_or_404(request, attempt_id)
    if may_see(who(request), attempt.course) is not Role.INSTRUCTOR:
        raise Http404
    run = get_object_or_404(Run.objects.select_related("attempt__course"), attempt=attempt, number=number)
    form = NoteForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("The note is too long: at most 200 characters."))
        return redirect("attempt", attempt.pk)
    try:
        verbs.show(run, form.cleaned_data["note"], who(request))
    except Refused as error:
        messages.error(request, say(error.text))
        return redirect("attempt", attempt.pk)
    messages.success(
        request, _("The class can watch this run now, at the step's page. It says nowhere whose it is.")
    )
    return redirect("demo", attempt.course.slug, attempt.step)


@login_required
@require_POST
def demo_withdraw(request: HttpRequest, course_slug: str, step_key: str) -> HttpResponse:
    course, step = course_of_instructor_or_404(request, course_slug), step_or_404(step_key)
    if not verbs.withdraw(course, step.key, who(request)):
        raise Http404
    messages.success(request, _("The class sees this run no longer."))
    return redirect("step", course.slug, step.key)


def _demo_or_404(request: HttpRequest, course_slug: str, step_key: str) -> tuple[Course, Step, DemoRun]:
    course, step = course_or_404(request, course_slug), step_or_404(step_key)
    if (found := verbs.shown_run(course, step.key)) is None:
        raise Http404
    return course, step, found


def _store_or_404(request: HttpRequest, course_slug: str, step_key: str, key: str) -> FrameStore:
    _course, _step, found = _demo_or_404(request, course_slug, step_key)
    stores = FrameStore.objects.select_related("recording")
    return get_object_or_404(stores, recording__run=found.run, recording__key=key)
