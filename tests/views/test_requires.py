"""A step that waits until another one was tried: its page says so, and a post changes nothing."""

from __future__ import annotations

import uuid

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from labs.actions.errors import Refused
from labs.actions.submit import submit
from labs.models import Attempt, Course, State
from labs.steps import all_steps
from labs.steps.base import Step
from tests.views.rows import attempt_in

WAITING = [(step, other) for step in all_steps().values() for other in sorted(step.requires)]


def test_what_a_step_waits_for_is_a_step_before_it() -> None:
    assert WAITING
    assert all(all_steps()[other].order < step.order for step, other in WAITING)
    assert not any(all_steps()[other].requires for _, other in WAITING)


@pytest.mark.parametrize(("step", "other"), WAITING, ids=lambda value: str(getattr(value, "key", value)))
def test_its_page_names_the_other_step_instead_of_a_form(
    step: Step, other: str, owner: User, course: Course, at_owner: Client
) -> None:
    address = reverse("step", args=[course.slug, step.key])
    before = at_owner.get(address).content.decode()
    assert "data-once" not in before
    assert f'<a href="{reverse("step", args=[course.slug, other])}">' in before.partition('class="notice"')[2]
    attempt_in(State.CANCELLED, owner, course, step_key=other)
    assert "data-once" in at_owner.get(address).content.decode()


def test_a_post_is_refused_until_then(owner: User, course: Course) -> None:
    step, other = WAITING[0]
    with pytest.raises(Refused) as refused:
        submit(owner, course, step, step.rounds[0].key, {}, uuid.uuid4())
    assert other in str(refused.value)
    assert not Attempt.objects.exists()


def test_another_students_attempt_opens_nothing(owner: User, member: User, course: Course) -> None:
    step, other = WAITING[0]
    attempt_in(State.GRADED, member, course, step_key=other)
    with pytest.raises(Refused):
        submit(owner, course, step, step.rounds[0].key, {}, uuid.uuid4())
