"""A run shown to the class: who may show it, who may watch it, and that nobody learns whose it is."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from labs.models import Attempt, AuditRow, Course, DemoRun, FrameStore, State
from labs.models.audit import Verb
from tests.views.pages import Page
from tests.views.rows import STEP, attempt_in


@pytest.fixture
def classmate_client(course: Course) -> Client:
    from labs.models import Enrolment
    from tests.views.conftest import client_of

    user = User.objects.create_user("classmate")
    Enrolment.objects.create(user=user, course=course)
    return client_of(user)


def show(client: Client, attempt: Attempt, note: str = "Look at the second request") -> int:
    return client.post(reverse("demo-show", args=[attempt.pk, 1]), {"note": note}).status_code


def url(course: Course, name: str = "demo", *extra: str) -> str:
    return reverse(name, args=[course.slug, STEP, *extra])


def addresses(course: Course) -> list[str]:
    return [url(course), url(course, "demo-replay", "cold"), url(course, "demo-frames", "cold")]


def test_only_an_instructor_of_the_course_shows_and_withdraws(
    attempt: Attempt, course: Course, at_owner: Client, at_outsider: Client, at_member: Client
) -> None:
    assert show(at_owner, attempt) == show(at_outsider, attempt) == 404
    assert not DemoRun.objects.exists()
    assert show(at_member, attempt) == 302
    for client in (at_owner, at_outsider):
        assert client.post(url(course, "demo-withdraw")).status_code == 404
    assert DemoRun.objects.filter(withdrawn_at=None).count() == 1
    assert at_member.post(url(course, "demo-withdraw")).status_code == 302
    assert at_member.post(url(course, "demo-withdraw")).status_code == 404
    rows = AuditRow.objects.filter(course=course).order_by("pk").values_list("verb", "what", "by_login")
    assert list(rows) == [(Verb.SHOWN, STEP, "member"), (Verb.WITHDRAWN, STEP, "member")]


def test_the_class_watches_it_while_it_is_shown_and_nobody_else_ever(
    attempt: Attempt, course: Course, at_member: Client, at_outsider: Client, classmate_client: Client
) -> None:
    for where in addresses(course):
        assert classmate_client.get(where).status_code == 404
    show(at_member, attempt)
    for where in addresses(course):
        assert classmate_client.get(where).status_code == 200
        assert at_outsider.get(where).status_code == 404
    assert url(course) in classmate_client.get(reverse("step", args=[course.slug, STEP])).content.decode()
    at_member.post(url(course, "demo-withdraw"))
    for where in addresses(course):
        assert classmate_client.get(where).status_code == 404
    assert url(course) not in classmate_client.get(reverse("step", args=[course.slug, STEP])).content.decode()


def test_nothing_says_whose_it_is(
    attempt: Attempt, course: Course, owner: User, at_member: Client, classmate_client: Client
) -> None:
    owner.last_name, owner.email = "Hidden", "hidden@school.example"
    owner.save()
    show(at_member, attempt)
    for where in addresses(course):
        answer = classmate_client.get(where)
        text = answer.content.decode() + str(answer.headers)
        for secret in (str(attempt.pk), "owner", "Hidden", "hidden@school.example"):
            assert secret not in text.replace(course.title, "")
    page = classmate_client.get(url(course)).content.decode()
    assert "Look at the second request" in page
    assert not Page(page).inline


def test_a_new_one_takes_the_old_ones_place(
    attempt: Attempt, owner: User, course: Course, at_member: Client
) -> None:
    other = attempt_in(State.GRADED, owner, course)
    show(at_member, attempt)
    show(at_member, other, "<b>second</b>")
    assert DemoRun.objects.count() == 2
    assert DemoRun.objects.get(withdrawn_at=None).run.attempt == other
    assert "&lt;b&gt;second" in at_member.get(url(course)).content.decode()


def test_what_is_not_recorded_cannot_be_shown(attempt: Attempt, at_member: Client) -> None:
    assert at_member.post(reverse("demo-show", args=[attempt.pk, 9])).status_code == 404
    FrameStore.objects.all().delete()
    show(at_member, attempt)
    assert not DemoRun.objects.exists()


def test_it_is_still_a_page_when_its_streams_were_purged(
    attempt: Attempt, course: Course, at_member: Client
) -> None:
    show(at_member, attempt)
    FrameStore.objects.all().delete()
    page = at_member.get(url(course)).content.decode()
    assert "no longer kept" in page
    assert at_member.get(url(course, "demo-replay", "cold")).status_code == 404
