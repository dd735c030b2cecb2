"""Notices are written with what they tell, and not without it; of runs only the newest is new."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from labs.actions.finish import finish
from labs.actions.rules import Given, extend, release_scores, set_rule
from labs.actions.stuck import Do, Seen, act
from labs.actions.sweep import sweep_once
from labs.models import Attempt, BoardState, Course, Grade, GradeEvent, Notice, State, StepRule
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


@pytest.fixture
def grade(kim: User, course: Course, post: Submit) -> Grade:
    """Kim has one at the step `toy`."""
    attempt = post(kim)
    Attempt.objects.filter(pk=attempt.pk).update(state=State.GRADED)
    event = GradeEvent.objects.create(attempt=attempt, step_version=1, points=1, checks=[], evidence_hash="")
    return Grade.objects.create(course=course, user=kim, step="toy", event=event)


@pytest.mark.usefixtures("grade")
def test_a_release_is_told_to_those_who_have_a_grade(lee: User, course: Course) -> None:
    step, teacher = all_steps()["toy"], User.objects.create_user("teacher")
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


def held_until(course: Course, at: datetime) -> StepRule:
    return set_rule(StepRule(course=course, step="toy", zone="Asia/Seoul", holds_scores=True, release_at=at))


def its_time_comes(rule: StepRule) -> None:
    StepRule.objects.filter(pk=rule.pk).update(release_at=timezone.now() - timedelta(seconds=1))


def board_versions() -> set[int]:
    return set(BoardState.objects.values_list("version", flat=True))


def test_a_release_at_a_set_time_is_told_once(grade: Grade, course: Course) -> None:
    later = timezone.now() + timedelta(hours=1)
    rule = held_until(course, later)
    [before] = board_versions()
    sweep_once()
    assert (told(), board_versions()) == ([], {before})
    its_time_comes(rule)
    for _again in range(2):
        sweep_once()
        assert (told(), board_versions()) == ([("kim", "released", "")], {before + 1})
    release_scores(course, all_steps()["toy"], grade.user)
    assert len(told()) == 1, "they know"


def test_a_set_time_that_another_rule_replaced_is_not_told(grade: Grade, course: Course) -> None:
    later = timezone.now() + timedelta(hours=1)
    replaced = held_until(course, later)
    held_until(course, later + timedelta(hours=1))
    its_time_comes(replaced)
    sweep_once()
    assert told() == []


@pytest.mark.parametrize("by", ["the button", "new rules", "new rules that keep the time"])
def test_a_time_that_came_a_moment_ago_is_told_by_whoever_comes_first(
    by: str, grade: Grade, course: Course
) -> None:
    rule = held_until(course, timezone.now() + timedelta(hours=1))
    its_time_comes(rule)
    if by == "the button":
        release_scores(course, all_steps()["toy"], grade.user)
    elif by == "new rules":
        set_rule(StepRule(course=course, step="toy", zone="Asia/Seoul"))
    else:
        held_until(course, timezone.now() - timedelta(seconds=1))
    sweep_once()
    assert told() == [("kim", "released", "")]
