"""My courses, their steps and my points."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from labs.access import courses_of
from labs.models import Enrolment, Role
from labs.terms import terms_of
from labs.views.guard import who
from labs.views.steplist import course_rows


@login_required
@never_cache
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    user = who(request)
    courses = list(courses_of(user).order_by("title"))
    roles = Enrolment.objects.roles_of(user, courses)
    taught = {course_id for course_id, role in roles.items() if role is Role.INSTRUCTOR}
    rows = course_rows(user, courses, terms_of(user, courses, roles))
    return render(request, "labs/home.html", {"rows": rows, "taught": taught})
