"""Three named people at every address of an attempt and of a step; the outsider learns nothing at all."""

from __future__ import annotations

import re
import uuid

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from labs.models import Attempt, Course, State
from tests.views.rows import STEP, attempt_in

PAGES = ["attempt", "attempt-panel", "attempt-frames"]


def url(name: str, attempt_id: object) -> str:
    extra = [1, "cold"] if name == "attempt-frames" else []
    return reverse(name, args=[attempt_id, *extra])


def _without_token(answer: HttpResponse) -> str:
    """The page but for what is random, and for the address that was asked for."""
    text = re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", answer.content.decode())
    return re.sub(r'name="next" value="[^"]*"', "", text)


@pytest.mark.parametrize("name", [*PAGES, "attempt-events"])
def test_an_outsider_finds_no_attempt(name: str, attempt: Attempt, at_outsider: Client) -> None:
    there, nowhere = at_outsider.get(url(name, attempt.pk)), at_outsider.get(url(name, uuid.uuid4()))
    assert there.status_code == nowhere.status_code == 404
    assert _without_token(there) == _without_token(nowhere), "a 404 must not tell which ids exist"


@pytest.mark.parametrize("name", PAGES)
def test_owner_and_instructor_see_it(
    name: str, attempt: Attempt, at_owner: Client, at_member: Client
) -> None:
    assert at_owner.get(url(name, attempt.pk)).status_code == 200
    assert at_member.get(url(name, attempt.pk)).status_code == 200


def test_nobody_but_the_owner_stops_a_run(
    owner: User, course: Course, at_owner: Client, at_member: Client, at_outsider: Client
) -> None:
    attempt = attempt_in(State.RUNNING, owner, course)
    where = url("attempt-cancel", attempt.pk)
    assert at_outsider.post(where).status_code == 404
    assert at_member.post(where).status_code == 404
    attempt.refresh_from_db()
    assert not attempt.cancel_requested
    assert at_owner.post(where).status_code == 302
    attempt.refresh_from_db()
    assert attempt.cancel_requested


def test_stop_is_no_link(owner: User, course: Course, at_owner: Client) -> None:
    attempt = attempt_in(State.RUNNING, owner, course)
    assert at_owner.get(url("attempt-cancel", attempt.pk)).status_code == 405


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_step_of_another_course_is_not_found(method: str, course: Course, at_outsider: Client) -> None:
    where = reverse("step", args=[course.slug, STEP])
    assert getattr(at_outsider, method)(where).status_code == 404
    assert at_outsider.get(reverse("step", args=["no-such-course", STEP])).status_code == 404


def test_an_unknown_step_is_not_found(course: Course, at_owner: Client) -> None:
    assert at_owner.get(reverse("step", args=[course.slug, "no-such-step"])).status_code == 404


@pytest.mark.parametrize("name", [*PAGES, "attempt-cancel"])
def test_who_is_not_logged_in_is_asked_to(name: str, attempt: Attempt, client: Client) -> None:
    where = url(name, attempt.pk)
    answer = client.post(where) if name == "attempt-cancel" else client.get(where)
    assert answer.status_code == 302
    assert answer["Location"].startswith(reverse("login"))


def test_the_home_page_lists_only_my_courses(course: Course, at_owner: Client, at_outsider: Client) -> None:
    assert course.title in at_owner.get(reverse("home")).content.decode()
    assert course.title not in at_outsider.get(reverse("home")).content.decode()


def test_the_panel_with_a_form_is_the_owners(attempt: Attempt, at_owner: Client, at_member: Client) -> None:
    where = reverse("attempt-panel", args=[attempt.pk]) + "?on=step"
    assert 'name="submit_key"' in at_owner.get(where).content.decode()
    assert 'name="submit_key"' not in at_member.get(where).content.decode()


def test_the_frames_come_as_a_text_file(attempt: Attempt, at_owner: Client) -> None:
    answer = at_owner.get(url("attempt-frames", attempt.pk))
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert b"+1234 us" in answer.content and b'"content":"hi"' in answer.content
