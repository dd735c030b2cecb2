"""The class hour: the instructor's figures in, a sentence and starting places out."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from labs.models import Booking, Course, Endpoint, Run, State
from tests.views.rows import attempt_in


def where(course: Course) -> str:
    return reverse("class-hour", args=[course.slug])


def asked(**changed: object) -> dict[str, object]:
    return {"headcount": 40, "minutes": 60, "tries": 1, "groups": 2, "steps": ["cache-break"], **changed}


def text_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


@pytest.fixture
def endpoint(course: Course) -> Endpoint:
    return Endpoint.objects.create(name="up", base_url="http://127.0.0.1:2", state=Endpoint.State.UP)


def test_only_for_the_courses_instructors(
    course: Course, at_owner: Client, at_outsider: Client, at_member: Client
) -> None:
    assert at_owner.get(where(course)).status_code == 404
    assert at_outsider.get(where(course)).status_code == 404
    assert at_member.get(where(course)).status_code == 200


def test_declared_times_say_so_and_fit(course: Course, at_member: Client, endpoint: Endpoint) -> None:
    page = text_of(at_member.get(where(course), asked()).content.decode())
    # 5 s and two rounds of 2 s: 9 s each, 14 s where it goes slowly.
    assert "Needs 6 machine-minutes, 1 endpoint gives 51: fine." in page
    assert "declared by the step" in page


def test_too_many_are_sent_to_pairs_or_more_endpoints(
    course: Course, at_member: Client, endpoint: Endpoint
) -> None:
    page = text_of(at_member.get(where(course), asked(headcount=400)).content.decode())
    assert "Needs 60 machine-minutes, 1 endpoint gives 51: not enough." in page
    assert "Use pairs, or add 1 endpoint." in page


def test_an_endpoint_that_another_course_has_booked_gives_nothing(
    course: Course, at_member: Client, endpoint: Endpoint
) -> None:
    other = Course.objects.create(slug="third", title="Third")
    now = timezone.now()
    Booking.objects.create(
        endpoint=endpoint, course=other, starts_at=now - timedelta(hours=1), ends_at=now + timedelta(hours=1)
    )
    page = text_of(at_member.get(where(course), asked()).content.decode())
    assert "0 endpoints give 0: not enough" in page and "No endpoint is open to this course now" in page
    Booking.objects.update(course=course)
    assert "1 endpoint gives 51" in text_of(at_member.get(where(course), asked()).content.decode())


def test_measured_attempts_count_once_there_are_enough(
    course: Course, owner: User, at_member: Client, endpoint: Endpoint
) -> None:
    for _ in range(8):
        attempt_in(State.GRADED, owner, course)
    now = timezone.now()
    Run.objects.update(started_at=now - timedelta(seconds=10), ended_at=now)
    page = text_of(at_member.get(where(course), asked()).content.decode())
    assert "measured: the last 8 graded attempts here" in page
    # Two runs of 10 s, for each of forty.
    assert "Needs 13 machine-minutes" in page


def test_what_cannot_be_reckoned_is_said_at_its_field(course: Course, at_member: Client) -> None:
    answer = at_member.get(where(course), asked(headcount=0, steps=["no-such-step"]))
    assert answer.status_code == 422
    assert answer.content.decode().count("errorlist") == 2


def test_a_step_whose_forerunner_is_left_out_says_so(
    course: Course, at_member: Client, endpoint: Endpoint
) -> None:
    page = text_of(at_member.get(where(course), asked(steps=["voice-turn"])).content.decode())
    assert "opens only for those who have tried this before" in page
