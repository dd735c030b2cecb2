"""List pages ask the database a fixed number of questions, however much there is to list."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from labs.models import Attempt, Course, Enrolment, State
from tests.views.rows import STEP, attempt_in

# Session, user, notices; then the page's own: courses, as what I stand there, rules, my extensions, grades with their
# events, attempt states.
HOME = 9
# Session, user, notices, course and right; attempts, their count, checks, rounds, runs with recordings and frames,
# grades, attempt states; rules, extensions; is a run shown to the class, a partner; practice time; the endpoints,
# and one for the prompts that the form wants as tokens.
STEP_PAGE = 20


def test_home(
    owner: User, course: Course, at_owner: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(HOME):
        at_owner.get(reverse("home"))
    for number in range(4):
        other = Course.objects.create(slug=f"c{number}", title=f"Course {number}")
        Enrolment.objects.create(user=owner, course=other)
        attempt_in(State.GRADED, owner, other)
    with django_assert_num_queries(HOME):
        at_owner.get(reverse("home"))


@pytest.mark.parametrize("more", [1, 4])
def test_step(
    more: int,
    owner: User,
    course: Course,
    attempt: Attempt,
    at_owner: Client,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for _ in range(more):
        attempt_in(State.GRADED, owner, course, kind="fail")
    with django_assert_num_queries(STEP_PAGE):
        at_owner.get(reverse("step", args=[course.slug, STEP]))
