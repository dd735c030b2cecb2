"""An instructor sees a student's pages as the student does: begun and ended here, and held to looking.

The middleware is the one guard. While a session looks as a student, safe requests are answered as that student and
only for the pages listed here; whatever would change something is refused, and is never asked as the student.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.signals import user_logged_out
from django.dispatch import receiver
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from labs.access import seen_person
from labs.actions import view_as as verbs
from labs.actions.audit import looking_as
from labs.actions.errors import NotFound
from labs.models import Viewing
from labs.steps import all_steps
from labs.viewing import SESSION_KEY, held
from labs.views.guard import course_of_instructor_or_404, posted_user_id, who

SAFE = ("GET", "HEAD", "OPTIONS")
# The student's own pages. What is not named here is not found while looking: a new page has to be thought of first.
SEEN = {
    "home",
    "me",
    "step",
    "step-file",
    "boards",
    "board",
    "board-fragment",
    "board-csv",
    "board-xlsx",
    "demo",
    "demo-replay",
    "demo-frames",
    "pair",
    "attempt",
    "attempt-panel",
    "attempt-events",
    "attempt-frames",
    "attempt-replay",
    "healthz",
    "readyz",
}
# What the person behind may still do, as themself: end it, leave, and read in another language.
OWN_WAYS = {"view-as-end", "logout", "set_language"}


class Seeing:
    """Middleware, behind the one that remembers from where a request comes."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        pk = request.session.get(SESSION_KEY)
        if pk is None:
            return self._get_response(request)
        viewing = _held_by(request, pk)
        if viewing is None:
            return self._over(request, pk)
        vars(request)["viewing"] = viewing
        if request.method in SAFE:
            request.user = seen_person(viewing)
        with looking_as(viewing.whom_id):
            return self._get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        if viewing_of(request) is None:
            return None
        name = request.resolver_match.view_name if request.resolver_match else ""
        if request.method not in SAFE:
            return None if name in OWN_WAYS else refused(request)
        if name not in SEEN:
            raise Http404
        return None

    def _over(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Its time is up, or its right is gone. What a page of it still sends is not taken as the instructor's own."""
        _end(request, pk)
        if request.method not in SAFE:
            return refused(request)
        messages.info(request, _("You no longer look as a student: these are your own pages again."))
        return self._get_response(request)


def viewing_of(request: HttpRequest) -> Viewing | None:
    """The viewing under which this request is answered."""
    return cast("Viewing | None", vars(request).get("viewing"))


def refused(request: HttpRequest) -> HttpResponse:
    return render(request, "labs/view_as_refused.html", status=403)


@login_required
@require_POST
def begin(request: HttpRequest, course_slug: str) -> HttpResponse:
    """`user` says whose pages; with `?step=` their page of that step comes first."""
    course = course_of_instructor_or_404(request, course_slug)
    try:
        viewing = verbs.begin(course, posted_user_id(request), who(request))
    except NotFound as error:
        raise Http404 from error
    request.session[SESSION_KEY] = viewing.pk
    step = request.GET.get("step", "")
    return redirect("step", course.slug, step) if step in all_steps() else redirect("home")


@login_required
@require_POST
def end(request: HttpRequest) -> HttpResponse:
    """Back to the people of the course. Pressed again, in another window, it changes nothing."""
    viewing = viewing_of(request)
    if viewing is None:
        return redirect("home")
    _end(request, viewing.pk)
    return redirect("people", viewing.course.slug)


@receiver(user_logged_out, dispatch_uid="labs.view_as")
def end_with_session(request: HttpRequest | None, **_: Any) -> None:
    if request is not None and (pk := request.session.get(SESSION_KEY)) is not None:
        _end(request, pk)


def _held_by(request: HttpRequest, pk: int) -> Viewing | None:
    viewing = held([pk]).get(pk)
    return viewing if viewing is not None and viewing.by == request.user else None


def _end(request: HttpRequest, pk: int) -> None:
    del request.session[SESSION_KEY]
    if (viewing := Viewing.objects.select_related("by", "whom", "course").filter(pk=pk).first()) is not None:
        verbs.end(viewing)
