"""My courses, their steps and my points."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef
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
    teaches = Enrolment.objects.active().filter(course=OuterRef("pk"), user=user, role=Role.INSTRUCTOR)
    courses = list(courses_of(user).annotate(is_taught=Exists(teaches)).order_by("title"))
    is_staff = user.is_staff
    roles = {
        course.pk: Role.INSTRUCTOR if is_staff or vars(course)["is_taught"] else Role.STUDENT
        for course in courses
    }
    return render(
        request, "labs/home.html", {"rows": course_rows(user, courses, terms_of(user, courses, roles))}
    )
