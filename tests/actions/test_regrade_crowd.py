"""Several people and workers at one set at the same time: it ends once, and every attempt has one row."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from labs.actions.finish import finish
from labs.actions.regrade import build as building
from labs.actions.regrade.apply import apply, cancel
from labs.actions.regrade.build import build, start
from labs.models import Course, Enrolment, Grade, GradeEvent, RegradeRow, RegradeSet
from tests.actions.conftest import Submit
from tests.actions.rows import claim
from tests.actions.toy import ToyStep, drive

STUDENTS = 6
LIMITS = {"points:one-check": 2, "points:two-check": 8}

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("endpoint")]


@pytest.fixture
def graded(course: Course, post: Submit) -> None:
    for n in range(STUDENTS):
        user = User.objects.create_user(f"s{n}")
        Enrolment.objects.create(user=user, course=course)
        for key, text in (("one", "right"), ("two", "wrong")):
            post(user, key)
            finish(claim(), drive(text=text))


def at_once(*actions: Callable[[], Any]) -> list[Any]:
    """Runs them in threads that begin together; what each gave, or the exception it ended with."""
    barrier, results = threading.Barrier(len(actions)), [None] * len(actions)

    def run(place: int, action: Callable[[], Any]) -> None:
        try:
            barrier.wait()
            results[place] = action()
        except Exception as error:
            results[place] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(actions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_builders_share_a_set_and_no_attempt_is_there_twice(
    course: Course, toy_step: ToyStep, graded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "CHUNK", 1)
    regrade = start(course, toy_step, None, "", LIMITS)
    done = at_once(*[lambda: build(RegradeSet.objects.get())] * 3)
    assert not [found for found in done if isinstance(found, Exception)]
    build(regrade)  # whoever lost a race stops; somebody goes on
    regrade.refresh_from_db()
    assert regrade.state == RegradeSet.State.PREVIEW
    assert Counter(RegradeRow.objects.values_list("attempt", flat=True)).most_common(1)[0][1] == 1
    assert RegradeRow.objects.count() == STUDENTS


def test_of_applies_and_cancels_one_counts(course: Course, toy_step: ToyStep, graded: None) -> None:
    regrade = start(course, toy_step, None, "", LIMITS)
    build(regrade)
    actions = [lambda: apply(RegradeSet.objects.get(), None)] * 3 + [
        lambda: cancel(RegradeSet.objects.get(), None)
    ]
    results = at_once(*actions)
    assert Counter(results) == {True: 1, False: 3}
    events = GradeEvent.objects.filter(kind=GradeEvent.Kind.REGRADE).count()
    applied = RegradeSet.objects.get().state == RegradeSet.State.APPLIED
    assert events == (STUDENTS if applied else 0)
    assert {g.event.points for g in Grade.objects.select_related("event")} == {2 if applied else 5}


def test_sets_begun_at_once(course: Course, toy_step: ToyStep, graded: None) -> None:
    results = at_once(*[lambda: start(course, toy_step, None, "", LIMITS)] * 3)
    assert sorted(type(found).__name__ for found in results) == ["Refused", "Refused", "RegradeSet"]
    assert RegradeSet.objects.count() == 1


def test_attempts_that_end_while_a_set_is_applied_keep_the_best(
    course: Course, toy_step: ToyStep, graded: None, post: Submit
) -> None:
    regrade = start(course, toy_step, None, "", LIMITS)
    build(regrade)
    better = User.objects.get(username="s0")
    post(better, "one")
    finish(claim(), drive(text="right"))
    post(better, "two")
    held = claim()
    results = at_once(
        lambda: apply(RegradeSet.objects.get(), None), lambda: finish(held, drive(text="right"))
    )
    assert results == [True, True]
    assert Grade.objects.select_related("event").get(user=better).event.points == 10
    others = Grade.objects.exclude(user=better).select_related("event")
    assert {grade.event.points for grade in others} == {2}
