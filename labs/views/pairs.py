"""Pairs: a student's own page, where one asks another, and the instructor's, who makes and ends them."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from labs.access import may_see
from labs.actions import pairs as verbs
from labs.actions.errors import NotFound, Refused
from labs.models import Course, Pair, Role
from labs.pairs import free_students, invitations, partnership_of
from labs.views.guard import (
    LOOKS_LIKE_AN_ID,
    attempt_or_404,
    course_of_instructor_or_404,
    course_or_404,
    who,
)
from labs.views.words import say

LONGEST = 150


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def pair(request: HttpRequest, course_slug: str) -> HttpResponse:
    """A student's. Instructors have a page of their own."""
    course, user = course_or_404(request, course_slug), who(request)
    if may_see(user, course) is not Role.STUDENT:
        return redirect("pairs", course.slug)
    if request.method == "POST":
        _do(request, course, user)
        return redirect("pair", course.slug)
    open_ones = invitations(course)
    context = {
        "course": course,
        "together": partnership_of(user, course),
        "asked_me": [one for one in open_ones if one.invites_id == user.pk],
        "i_asked": next((one for one in open_ones if one.by_id == user.pk), None),
        "longest": LONGEST,
    }
    return render(request, "labs/pair.html", context)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def pairs(request: HttpRequest, course_slug: str) -> HttpResponse:
    course, user = course_of_instructor_or_404(request, course_slug), who(request)
    if request.method == "POST":
        _do_for(request, course, user)
        return redirect("pairs", course.slug)
    lasting = (
        Pair.objects.filter(course=course, began_at__isnull=False, ended_at=None)
        .prefetch_related("members__user")
        .order_by("began_at", "pk")
    )
    return render(
        request, "labs/pairs.html", {"course": course, "pairs": lasting, "free": free_students(course)}
    )


@login_required
@require_POST
def go_alone(request: HttpRequest, attempt_id: UUID) -> HttpResponse:
    """The owner's; for anybody else there is nothing here."""
    found, _step = attempt_or_404(request, attempt_id)
    if found.user_id != who(request).pk:
        raise Http404
    if not verbs.go_alone(found):
        messages.info(request, _("It waits for nobody any more."))
    return redirect("step", found.course.slug, found.step)


def _do(request: HttpRequest, course: Course, user: User) -> None:
    verb = request.POST.get("do", "")
    try:
        match verb:
            case "invite":
                verbs.invite(course, user, request.POST.get("whom", "").strip()[:LONGEST])
                messages.success(request, _("Asked. It is a pair once the other accepts."))
            case "accept":
                verbs.accept(course, user, _id(request, "pair"))
                messages.success(request, _("You are a pair from now on."))
            case "decline":
                verbs.decline(course, user, _id(request, "pair"))
                messages.success(request, _("Nothing comes of it."))
            case "end":
                together = partnership_of(user, course)
                if together is None:
                    raise NotFound("no pair")
                verbs.end(course, together.pair.pk, user)
                messages.success(request, _("You work alone from now on. What you did together stays."))
            case _:
                raise NotFound(verb)
    except NotFound as error:
        raise Http404 from error
    except Refused as error:
        messages.error(request, say(error.text))


def _do_for(request: HttpRequest, course: Course, user: User) -> None:
    verb = request.POST.get("do", "")
    try:
        match verb:
            case "make":
                free = {one.pk: one for one in free_students(course)}
                both = [free.get(_id(request, name)) for name in ("one", "other")]
                if both[0] is None or both[1] is None:
                    raise Refused(verbs.TAKEN)
                verbs.make(course, user, both[0], both[1])
                messages.success(request, _("They are a pair from now on."))
            case "end":
                verbs.end(course, _id(request, "pair"), user)
                messages.success(request, _("Both work alone from now on."))
            case _:
                raise NotFound(verb)
    except NotFound as error:
        raise Http404 from error
    except Refused as error:
        messages.error(request, say(error.text))


def _id(request: HttpRequest, name: str) -> int:
    text = request.POST.get(name, "")
    if not LOOKS_LIKE_AN_ID.fullmatch(text):
        raise NotFound(name)
    return int(text)
