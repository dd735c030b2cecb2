"""My courses, their steps and my points."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from labs.models import Course
from labs.views.guard import who
from labs.views.steplist import course_rows


@login_required
@never_cache
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    user = who(request)
    courses = Course.objects.filter(enrolments__user=user).order_by("title")
    return render(request, "labs/home.html", {"rows": course_rows(user, courses)})
