"""Purged frames, on the lab's own steps: rules over stored figures still regrade, others keep what was earned."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from labs.actions.regrade.apply import apply
from labs.actions.regrade.build import build, start
from labs.actions.regrade.report import kept_of
from labs.models import Course, Enrolment, FrameStore, Grade, State
from labs.steps import all_steps
from tests.views.rows import attempt_in

# Steps with a rule that reads what came off the wire.
READ_FRAMES = {"voice-turn"}


@pytest.fixture
def student(course: Course) -> User:
    user = User.objects.create_user("student")
    Enrolment.objects.create(user=user, course=course)
    return user


@pytest.mark.parametrize("key", list(all_steps()))
def test_each_step_without_its_frames(key: str, course: Course, student: User) -> None:
    step = all_steps()[key]
    attempt = attempt_in(State.GRADED, student, course, step_key=key)
    FrameStore.objects.all().delete()
    points = Grade.objects.get().event.points
    regrade = start(course, step, None, "", {})
    assert build(regrade)
    kept = [row.kept for row in kept_of(regrade)]
    assert kept == (["frames_purged"] if key in READ_FRAMES else [])
    assert apply(regrade, None)
    assert Grade.objects.get().event.points == points
    assert attempt.grade_events.count() == 1, "the same code over the same figures gives the same evidence"
