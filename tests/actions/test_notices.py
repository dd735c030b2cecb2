"""Notices are written with what they tell, and not without it; of runs only the newest is new."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from pytest_django import Settings

from labs.actions.finish import finish
from labs.actions.rules import Given, extend, release_scores, set_rule
from labs.actions.stuck import Do, Seen, act
from labs.actions.sweep import sweep_once
from labs.models import Attempt, Course, Grade, GradeEvent, Notice, State, StepRule
from labs.steps import all_steps
from tests.actions.conftest import Submit
from tests.actions.rows import claim
from tests.actions.toy import drive

pytestmark = pytest.mark.usefixtures("endpoint")


def told() -> list[tuple[str, str, str]]:
    return [
        (notice.user.username, notice.kind, notice.details.get("reason", ""))
        for notice in Notice.objects.select_related("user").order_by("pk")
    ]


def test_a_verdict(kim: User, post: Submit) -> None:
    attempt = post(kim)
    finish(claim(), drive())
    assert told() == [], "a round is no verdict"
    post(kim, "two")
    finish(claim(), drive())
    assert told() == [("kim", "verdict", "")]
    assert Notice.objects.get().attempt == attempt


def test_a_result_that_comes_too_late_tells_nothing(kim: User, post: Submit) -> None:
    post(kim)
    held = claim()
    finish(held, drive("errored", reason="endpoint_down"))
    before = told()
    assert not finish(held, drive("errored", reason="idle_timeout"))
    assert told() == before == [("kim", "returned", "endpoint_down")]


@pytest.mark.parametrize(
    ("outcome", "text", "reason", "kinds"),
    [
        ("errored", "", "idle_timeout", ["returned", "returned", "trouble"]),
        ("disturbed", "right", "", ["returned", "returned", "returned"]),
        # That a run proved nothing is a verdict, which may be held back.
        ("recorded", "sick", "", [None, None, None]),
        ("errored", "", "rejected_by_server", ["trouble"]),
    ],
)
def test_trouble_with_the_server_and_only_its_newest_news(
    outcome: str, text: str, reason: str, kinds: list[str | None], kim: User, post: Submit
) -> None:
    post(kim)
    for kind in kinds:
        finish(claim(), drive(outcome, text=text, reason=reason))
        assert [row[:2] for row in told()] == ([("kim", kind)] if kind else [])


def test_what_was_read_stays(kim: User, post: Submit) -> None:
    post(kim)
    finish(claim(), drive("errored", reason="endpoint_down"))
    Notice.objects.update(read_at="2026-01-01T00:00Z")
    finish(claim(), drive("errored", reason="idle_timeout"))
    assert [reason for _name, _kind, reason in told()] == ["endpoint_down", "idle_timeout"]


def test_the_sweep_tells_what_it_ends(kim: User, post: Submit, settings: Settings) -> None:
    post(kim)
    settings.LABHUB_QUEUED_S = -1
    sweep_once()
    assert told() == [("kim", "trouble", "endpoint_down")]


def test_what_an_admin_does_with_a_stuck_attempt(kim: User, post: Submit) -> None:
    """Put back, and then ended."""
    admin = User.objects.create_superuser("root")
    attempt = post(kim)
    claim()
    for do, kind, reason in ((Do.REQUEUE, "returned", ""), (Do.GIVE_BACK, "trouble", "ended_by_admin")):
        attempt.refresh_from_db()
        assert act(do, [Seen(attempt.pk, attempt.version)], admin) == (1, 0)
        assert told() == [("kim", kind, reason)]


def test_practice_is_no_news(kim: User, post: Submit) -> None:
    attempt = post(kim)
    Attempt.objects.filter(pk=attempt.pk).update(practice=True)
    finish(claim(), drive("errored", reason="rejected_by_server"))
    assert told() == []


def test_what_is_undone_was_never_told(kim: User, course: Course) -> None:
    teacher = User.objects.create_user("teacher")
    with transaction.atomic():
        extend(course, kim, None, Given(extra_attempts=1), "ill", teacher)
        transaction.set_rollback(True)
    assert told() == []


def test_a_release_is_told_to_those_who_have_a_grade(
    kim: User, lee: User, course: Course, post: Submit
) -> None:
    step, teacher = all_steps()["toy"], User.objects.create_user("teacher")
    attempt = post(kim)
    Attempt.objects.filter(pk=attempt.pk).update(state=State.GRADED)
    event = GradeEvent.objects.create(attempt=attempt, step_version=1, points=1, checks=[], evidence_hash="")
    Grade.objects.create(course=course, user=kim, step="toy", event=event)
    for release in (
        lambda: release_scores(course, step, teacher),
        lambda: set_rule(StepRule(course=course, step="toy", zone="Asia/Seoul", by=teacher)),
    ):
        set_rule(StepRule(course=course, step="toy", zone="Asia/Seoul", by=teacher, holds_scores=True))
        assert told() == []
        release()
        assert told() == [("kim", "released", "")]
        Notice.objects.all().delete()
    set_rule(StepRule(course=course, step="toy", zone="Asia/Seoul", by=teacher))
    assert told() == [], "nothing was held"
