"""Who leaves takes their own rows with them; what a grade rests on does not go alone."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db.models import RestrictedError

from labs.actions.claim import claim_next
from labs.actions.finish import finish
from labs.models import Attempt, Course, Endpoint, Grade
from tests.actions.conftest import Submit
from tests.actions.toy import drive


@pytest.fixture
def graded(post: Submit, kim: User, endpoint: Endpoint) -> Attempt:
    for round_key in ("one", "two"):
        post(kim, round_key)
        claim = claim_next("w")
        assert claim is not None
        assert finish(claim, drive())
    attempt = Attempt.objects.get()
    assert Grade.objects.get().event.attempt == attempt
    return attempt


def test_a_student_with_a_grade_can_be_deleted(graded: Attempt, kim: User) -> None:
    kim.delete()
    assert not Grade.objects.exists()
    assert not Attempt.objects.exists()


def test_a_course_with_grades_can_be_deleted(graded: Attempt, course: Course) -> None:
    course.delete()
    assert not Grade.objects.exists()


def test_an_attempt_that_a_grade_rests_on_cannot_go_alone(graded: Attempt) -> None:
    with pytest.raises(RestrictedError):
        graded.delete()
