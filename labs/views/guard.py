"""Who may see what, as views need it: the thing itself, or 404 whatever the cause."""

from __future__ import annotations

import re
from uuid import UUID

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest

from labs.access import attempt_for, course_for, may_see
from labs.actions.errors import NotFound
from labs.models import Attempt, Course, Role
from labs.steps import all_steps
from labs.steps.base import Step

LOOKS_LIKE_AN_ID = re.compile(r"[0-9]{1,18}")


def who(request: HttpRequest) -> User:
    """The logged-in user; only behind login_required."""
    assert isinstance(request.user, User)
    return request.user


def posted_user_id(request: HttpRequest) -> int:
    """Who was pressed. It is looked for within the course only."""
    text = request.POST.get("user", "")
    if not LOOKS_LIKE_AN_ID.fullmatch(text):
        raise Http404
    return int(text)


def attempt_or_404(request: HttpRequest, attempt_id: UUID) -> tuple[Attempt, Step]:
    try:
        attempt = attempt_for(who(request), attempt_id)
    except NotFound as error:
        raise Http404 from error
    return attempt, step_or_404(attempt.step)


def course_or_404(request: HttpRequest, slug: str) -> Course:
    return course_and_role_or_404(request, slug)[0]


def course_and_role_or_404(request: HttpRequest, slug: str) -> tuple[Course, Role]:
    """The course, and as what its visitor may see it."""
    try:
        return course_for(who(request), slug)
    except NotFound as error:
        raise Http404 from error


def role_or_404(request: HttpRequest, course: Course) -> Role:
    role = may_see(who(request), course)
    if role is None:
        raise Http404
    return role


def course_of_instructor_or_404(request: HttpRequest, slug: str) -> Course:
    """For the course's instructors and staff; its students find nothing."""
    course, role = course_and_role_or_404(request, slug)
    if role is not Role.INSTRUCTOR:
        raise Http404
    return course


def step_or_404(key: str) -> Step:
    step = all_steps().get(key)
    if step is None:
        raise Http404
    return step
