"""The way between an instructor's pages: on every one of them, and on nobody else's."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from labs.models import Course, State
from labs.templatetags.course_nav import SECTIONS
from tests.views.rows import STEP, attempt_in

NAV = re.compile(r'<nav class="course-nav".*?</nav>', re.S)


def nav_of(client: Client, url: str) -> str:
    found = NAV.search(client.get(url, follow=True).content.decode())
    return found[0] if found else ""


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_leads_to_all_and_marks_itself(section: str, course: Course, at_member: Client) -> None:
    nav = nav_of(at_member, reverse(section, args=[course.slug]))
    for other in SECTIONS:
        assert reverse(other, args=[course.slug]) in nav
    assert re.findall(r'href="([^"]+)" aria-current="page"', nav) == [reverse(section, args=[course.slug])]


def test_a_students_attempt_is_of_the_gradebook(owner: User, course: Course, at_member: Client) -> None:
    attempt = attempt_in(State.GRADED, owner, course)
    page = at_member.get(reverse("attempt", args=[attempt.pk])).content.decode()
    assert f'href="{reverse("gradebook", args=[course.slug])}" aria-current="page"' in page
    assert 'class="steps"' not in page, "those steps would be the instructor's own"


def test_a_student_has_none(owner: User, course: Course, at_owner: Client) -> None:
    attempt = attempt_in(State.GRADED, owner, course)
    addresses = [
        reverse("boards", args=[course.slug]),
        reverse("attempt", args=[attempt.pk]),
        reverse("step", args=[course.slug, STEP]),
        reverse("home"),
    ]
    assert [address for address in addresses if nav_of(at_owner, address)] == []
