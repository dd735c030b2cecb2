"""The admin's page of a course: it can be saved however large the class is, and instructors are named there."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from labs.models import Course, Enrolment, Role
from tests.views.pages import Page

CLASS = 400


@pytest.fixture
def at_admin(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("admin"), "django.contrib.auth.backends.ModelBackend")
    return client


def filled(page: Page) -> dict[str, str]:
    """The inputs that a browser would send back; what is chosen from lists is not among them."""
    named = {attrs["name"]: attrs for tag, attrs in page.tags if tag == "input" and attrs.get("name")}
    return {
        str(name): attrs.get("value") or ""
        for name, attrs in named.items()
        if attrs.get("type") not in ("submit", "checkbox") and "__prefix__" not in str(name)
    }


def test_a_course_with_a_large_class_can_still_be_saved_and_given_an_instructor(
    course: Course, member: User, at_admin: Client
) -> None:
    students = User.objects.bulk_create(User(username=f"s{number}") for number in range(CLASS))
    Enrolment.objects.bulk_create(Enrolment(user=student, course=course) for student in students)
    second = User.objects.create_user("second")
    where = reverse("admin:labs_course_change", args=[course.pk])
    fields = filled(Page(at_admin.get(where).content.decode()))
    fields |= {"title": "Voice lab 2", "enrolments-TOTAL_FORMS": "2"}
    fields |= {"enrolments-0-user": str(member.pk), "enrolments-0-role": "instructor"}
    fields |= {"enrolments-1-user": str(second.pk), "enrolments-1-role": "instructor"}
    answer = at_admin.post(where, fields)
    assert answer.status_code == 302, answer.context["errors"]
    course.refresh_from_db()
    assert course.title == "Voice lab 2"
    teaching = Enrolment.objects.filter(course=course, role=Role.INSTRUCTOR)
    assert set(teaching.values_list("user__username", flat=True)) == {"member", "second"}
    assert Enrolment.objects.filter(course=course, role=Role.STUDENT).count() == CLASS
