"""One attempt, live or past: its page, its fragment for the live page, Stop, and its frames as text."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from labs.access import may_see, only_course
from labs.actions.cancel import cancel as cancel_attempt
from labs.actions.errors import Refused
from labs.actions.notify import mark_seen
from labs.actions.override import clear_override, override
from labs.measure.frames import unpack_frames
from labs.models import Attempt, FrameStore, Role, State
from labs.steps.base import Step
from labs.terms import terms_of
from labs.views.guard import attempt_or_404, role_or_404, who
from labs.views.points import PointsForm, points_context
from labs.views.shown import ShownAttempt
from labs.views.step_page import now_of, step_context
from labs.views.steplist import course_rows
from labs.views.strings import strings


@login_required
@never_cache
@require_safe
def attempt(request: HttpRequest, attempt_id: UUID) -> HttpResponse:
    found, step = attempt_or_404(request, attempt_id)
    _mark_seen(who(request), found)
    return render(request, "labs/attempt.html", _context(request, found, step))


@login_required
@never_cache
@require_safe
def attempt_panel(request: HttpRequest, attempt_id: UUID) -> HttpResponse:
    """The parts that change when a run ends, for the page that followed it (`on` says which)."""
    found, step = attempt_or_404(request, attempt_id)
    _mark_seen(who(request), found)
    if request.GET.get("on") == "step" and found.user_id == who(request).pk:
        role = role_or_404(request, found.course)
        context = step_context(who(request), found.course, step, role=role)
        return render(request, "labs/panel_step.html", context)
    return render(request, "labs/panel_attempt.html", _context(request, found, step))


@login_required
@require_POST
def cancel(request: HttpRequest, attempt_id: UUID) -> HttpResponse:
    """Stop is the owner's; for anybody else there is nothing to stop here."""
    found, _step = attempt_or_404(request, attempt_id)
    if found.user_id != who(request).pk:
        raise Http404
    cancel_attempt(found)
    if request.headers.get("Accept", "").startswith("application/json"):
        return HttpResponse(status=204)
    return redirect("step", found.course.slug, found.step)


@login_required
@require_POST
def points(request: HttpRequest, attempt_id: UUID) -> HttpResponse:
    """Points of an instructor of the course, for work that is not their own."""
    found, step = attempt_or_404(request, attempt_id)
    user = who(request)
    if found.practice or found.user_id == user.pk or may_see(user, found.course) is not Role.INSTRUCTOR:
        raise Http404
    form, problem = PointsForm(step, request.POST), None
    if form.is_valid():
        comment = form.cleaned_data["comment"]
        try:
            if form.is_clear:
                clear_override(found, step, user, comment)
            else:
                override(found, step, user, form.cleaned_data["points"], comment)
        except Refused as error:
            problem = error.text
        else:
            return redirect("attempt", found.pk)
    context = _context(request, found, step) | points_context(found, step, form, problem)
    return render(request, "labs/attempt.html", context, status=422)


@login_required
@never_cache
@require_safe
def frames(request: HttpRequest, attempt_id: UUID, run: int, key: str) -> HttpResponse:
    """A recording's raw bytes with their times, one read a paragraph, as a text file."""
    found, _step = attempt_or_404(request, attempt_id)
    store = FrameStore.objects.filter(
        recording__run__attempt=found, recording__run__number=run, recording__key=key
    ).first()
    if store is None:
        raise Http404
    return frames_file(store, f"{found.step}-run{run}-{key}.txt")


def frames_file(store: FrameStore, name: str) -> HttpResponse:
    lines = [
        f"+{f.at_us} us  {len(f.data)} bytes\n{f.data.decode('utf-8', 'backslashreplace')}"
        for f in unpack_frames(bytes(store.blob))
    ]
    response = HttpResponse("\n".join(lines), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _mark_seen(user: User, found: Attempt) -> None:
    """By its owner; whoever only looks at their pages reads nothing for them."""
    if found.user_id == user.pk and only_course(user) is None:
        mark_seen(user, found)


def _context(request: HttpRequest, found: Attempt, step: Step) -> dict[str, Any]:
    user, role = who(request), role_or_404(request, found.course)
    graded = Attempt.objects.for_grade().filter(
        user=found.user, course=found.course, step=found.step, state=State.GRADED
    )
    is_owner = found.user_id == user.pk
    # The reader's own: who sees somebody else's attempt teaches the course, and from them nothing is held back.
    terms = terms_of(user, [found.course], {found.course_id: role})
    hides_scores = terms[found.course_id, step.key].hides_scores(timezone.now())
    shown = ShownAttempt(found, step, tries=graded.count(), hides_scores=hides_scores)
    return {
        "course": found.course,
        "step": step,
        "row": course_rows(user, [found.course], terms)[0],
        "shown": shown,
        "now": now_of(shown),
        "is_owner": is_owner,
        "on": "attempt",
        "may_show": role is Role.INSTRUCTOR,
        "strings": strings(),
        # Whoever sees somebody else's attempt teaches the course.
        **({} if is_owner or found.practice else points_context(found, step)),
    }
