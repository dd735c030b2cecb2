"""The people of a course, for its instructors: who takes part, the roster in, and login links."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from labs.actions.join import draw_code, end_code, shown
from labs.actions.login_link import login_links
from labs.actions.roster.apply import Outdated, apply, bring_back
from labs.actions.roster.change import Change
from labs.actions.roster.plan import plan
from labs.ends import erases_at
from labs.models import Course, Enrolment, Role
from labs.roster import read_roster
from labs.tables.errors import Unreadable
from labs.text import Text
from labs.views.guard import course_of_instructor_or_404, posted_user_id, who
from labs.views.roster_form import CodeForm, RosterForm


@login_required
@never_cache
@require_safe
def people(request: HttpRequest, course_slug: str) -> HttpResponse:
    course = course_of_instructor_or_404(request, course_slug)
    return render(request, "labs/people.html", _people_context(course))


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def roster(request: HttpRequest, course_slug: str) -> HttpResponse:
    """The preview of a list, and with `do=apply` its application. Nothing is saved before that."""
    course = course_of_instructor_or_404(request, course_slug)
    if request.method == "GET":
        return _to_people(course)
    form = RosterForm(request.POST, request.FILES)
    if not form.is_valid():
        return render(request, "labs/people.html", _people_context(course, form), status=422)
    try:
        read = read_roster(form.text)
    except Unreadable as error:
        return render(request, "labs/people.html", _people_context(course, form, error.text), status=422)
    user = who(request)
    if request.POST.get("do") != "apply":
        return render(request, "labs/roster.html", _preview(course, form, plan(course, read, user)))
    digest, let_go = request.POST.get("digest", ""), "let_go" in request.POST
    try:
        apply(course, read, user, digest, let_go=let_go)
    except Outdated as outdated:
        context = _preview(course, form, outdated.change) | {"is_outdated": True}
        return render(request, "labs/roster.html", context, status=409)
    messages.success(request, _("The list is applied."))
    return redirect("people", course.slug)


@login_required
@require_POST
def bring_back_one(request: HttpRequest, course_slug: str) -> HttpResponse:
    course = course_of_instructor_or_404(request, course_slug)
    if not bring_back(course, posted_user_id(request), who(request)):
        raise Http404
    messages.success(request, _("This person takes part again, with all earlier work."))
    return redirect("people", course.slug)


@login_required
@never_cache
@require_http_methods(["GET", "POST"])
def links(request: HttpRequest, course_slug: str) -> HttpResponse:
    """Links for all students without a password, or for one `user`; to be printed, and nowhere stored."""
    course = course_of_instructor_or_404(request, course_slug)
    if request.method == "GET":
        return _to_people(course)
    only = [posted_user_id(request)] if "user" in request.POST else None
    found = login_links(course, who(request), only)
    if only and not found:
        raise Http404
    here = request.build_absolute_uri("/").rstrip("/")
    context = {
        "course": course,
        "links": [(link.enrolment, here + link.path) for link in found if link.path],
        "refused": [link.enrolment for link in found if link.path is None],
    }
    return render(request, "labs/login_links.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def code(request: HttpRequest, course_slug: str) -> HttpResponse:
    """Draws a new enrolment code, or with `do=end` ends the present one."""
    course = course_of_instructor_or_404(request, course_slug)
    if request.method == "GET":
        return _to_people(course)
    if request.POST.get("do") == "end":
        end_code(course, who(request))
        messages.success(request, _("The enrolment code is dead. Who is in the course stays."))
        return redirect("people", course.slug)
    form = CodeForm(request.POST)
    if not form.is_valid():
        return render(request, "labs/people.html", _people_context(course, code_form=form), status=422)
    draw_code(course, form.cleaned_data["days"], who(request))
    messages.success(request, _("There is a new enrolment code. The one before it is dead."))
    return redirect("people", course.slug)


def _to_people(course: Course) -> HttpResponse:
    """These pages answer a form; whoever comes to their address by a reload or another language begins again."""
    return redirect("people", course.slug)


def _people_context(
    course: Course,
    form: RosterForm | None = None,
    problem: Text | None = None,
    code_form: CodeForm | None = None,
) -> dict[str, Any]:
    enrolments = (
        Enrolment.objects.filter(course=course)
        .select_related("user")
        .order_by("user__last_name", "user__first_name", "user__username")
    )
    students = [e for e in enrolments if e.role == Role.STUDENT]
    has_code = course.join_code_ends_at is not None and course.join_code_ends_at > timezone.now()
    return {
        "course": course,
        "erases_at": erases_at(course),
        "form": form or RosterForm(),
        "problem": problem,
        "code_form": code_form or CodeForm(),
        "code": shown(course.join_code) if has_code else "",
        "students": [e for e in students if e.left_at is None],
        "left": [e for e in students if e.left_at is not None],
        "instructors": [e for e in enrolments if e.role == Role.INSTRUCTOR and e.left_at is None],
        "without_password": sum(
            not e.user.has_usable_password() for e in students if e.left_at is None and e.user.is_active
        ),
    }


def _preview(course: Course, form: RosterForm, change: Change) -> dict[str, Any]:
    staying = change.kept + len(change.corrected)
    return {
        "course": course,
        "change": change,
        "text": form.text,
        "encoding": form.encoding,
        "arrivals": [(_("Come back"), change.back), (_("New"), change.new)],
        # A refused line, or most of the class, says that this may not be the whole list.
        "let_go": not change.refused and len(change.leaving) <= staying,
        "is_empty": not (change.new or change.back or change.corrected or change.leaving),
    }
