"""After its end a course takes nothing any more, and says so; all that was done can still be read."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from labs.actions.errors import Refused
from labs.actions.override import override
from labs.actions.rules import Given, extend
from labs.actions.sweep import sweep_once
from labs.models import Attempt, AttemptCount, Course, Role, State
from labs.steps import all_steps
from tests.views.rows import STEP, attempt_in

ENDED = "This course has ended. Nothing is taken any more; what you did can still be read."


@pytest.fixture
def where(course: Course) -> str:
    return reverse("step", args=[course.slug, STEP])


def end(course: Course) -> None:
    course.ends_at = timezone.now() - timedelta(seconds=1)
    course.save()


def test_up_to_its_end_the_form_is_there(course: Course, where: str, at_owner: Client) -> None:
    Course.objects.update(ends_at=timezone.now() + timedelta(minutes=1))
    page = at_owner.get(where).content.decode()
    assert 'name="submit_key"' in page and ENDED not in page


@pytest.mark.parametrize("who", ["owner", "member"])
def test_then_it_is_not_and_a_form_of_before_is_refused(
    who: str, course: Course, where: str, request: pytest.FixtureRequest
) -> None:
    client: Client = request.getfixturevalue(f"at_{who}")
    key = str(uuid.uuid4())
    end(course)
    page = client.get(where).content.decode()
    assert ENDED in page and 'name="submit_key"' not in page and "practice=1" not in page
    assert 'name="submit_key"' not in client.get(where + "?practice=1").content.decode()
    round_key = all_steps()[STEP].rounds[0].key
    for more in ({}, {"practice": "1"}):
        answer = client.post(where, {"round": round_key, "submit_key": key, **more})
        assert answer.status_code == 409
        assert "Nothing was sent, and nothing is taken any more." in answer.content.decode()
    assert not Attempt.objects.exists() and not AttemptCount.objects.exists()


def test_nor_a_later_round_and_what_was_recorded_is_graded(
    course: Course, owner: User, where: str, at_owner: Client
) -> None:
    attempt = attempt_in(State.OPEN, owner, course, rounds=1)
    end(course)
    assert 'name="submit_key"' not in at_owner.get(where).content.decode()
    answer = at_owner.post(where, {"round": all_steps()[STEP].rounds[1].key, "submit_key": str(uuid.uuid4())})
    assert answer.status_code == 409
    sweep_once()
    attempt.refresh_from_db()
    assert attempt.state == State.GRADED and attempt.grade_events.get().points > 0


def test_what_was_done_can_be_read_and_graded_by_hand(
    course: Course, owner: User, member: User, attempt: Attempt, at_owner: Client, at_member: Client
) -> None:
    end(course)
    for name, args in [
        ("home", []),
        ("me", []),
        ("attempt", [attempt.pk]),
        ("board", [course.slug, "voice"]),
    ]:
        assert at_owner.get(reverse(name, args=args)).status_code == 200
    override(attempt, all_steps()[STEP], member, 3, "spoke at the board")
    assert at_member.get(reverse("gradebook", args=[course.slug])).status_code == 200


def test_an_extension_after_the_end_would_promise_too_much(course: Course, owner: User, member: User) -> None:
    end(course)
    with pytest.raises(Refused, match="has ended"):
        extend(course, owner, None, Given(extra_attempts=1), "ill", member)


def test_the_people_page_says_what_becomes_of_the_names(course: Course, at_member: Client) -> None:
    page = reverse("people", args=[course.slug])
    assert "The course ends:" not in at_member.get(page).content.decode()
    Course.objects.update(ends_at="2099-01-01T00:00Z", erase_after_days=30)
    said = at_member.get(page).content.decode()
    assert "recordings are erased on:" in said and "2099-01-31 09:00 KST" in said
    Course.objects.update(erased_at=timezone.now())
    assert "recordings were erased on:" in at_member.get(page).content.decode()


def test_nobody_joins_it(course: Course, at_outsider: Client, outsider: User) -> None:
    Course.objects.filter(pk=course.pk).update(
        join_code="ABCDEFGHJK", join_code_ends_at=timezone.now() + timedelta(days=1)
    )
    Course.objects.filter(pk=course.pk).update(ends_at=timezone.now())
    at_outsider.post(reverse("join"), {"code": "ABCDE-FGHJK"})
    assert not course.enrolments.filter(user=outsider, role=Role.STUDENT).exists()
