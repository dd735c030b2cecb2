"""Practice: behind every graded attempt, within a quota, and counted nowhere."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.utils import timezone
from pytest_django import Settings

from labs.actions.board import enter
from labs.actions.cancel import cancel
from labs.actions.errors import Refused
from labs.actions.finish import finish
from labs.actions.override import override
from labs.actions.practice import set_quota
from labs.actions.regrade.again import regradable
from labs.actions.submit import submit
from labs.actions.sweep import expire_queued, sweep_once
from labs.gradebook.book import gradebook_of
from labs.measure.recording import RunRecord
from labs.models import (
    Attempt,
    AttemptCount,
    AuditRow,
    BoardEntry,
    Course,
    Endpoint,
    Enrolment,
    Grade,
    GradeEvent,
    Role,
    Run,
    State,
    StepRule,
)
from labs.practice import quota_of
from labs.sheets import sheet_for
from labs.steps.base import Score
from tests.actions.conftest import Submit
from tests.actions.rows import charged, claim, fresh
from tests.actions.toy import ToyStep, drive

pytestmark = pytest.mark.usefixtures("endpoint")

Practise = Callable[..., Attempt]


@pytest.fixture
def practise(course: Course, toy_step: ToyStep) -> Practise:
    """practise(user, 'one') submits a round of practice and gives the attempt."""

    def do(user: User, round_key: str = "one", **fields: Any) -> Attempt:
        course.refresh_from_db()
        return submit(user, course, toy_step, round_key, {"say": "hello"}, uuid4(), practice=True, **fields)

    return do


def whole(practise: Practise, user: User, text: str = "right") -> Attempt:
    """A practice attempt that went through both rounds."""
    practise(user)
    finish(claim(), drive())
    attempt = practise(user, "two")
    for _ in range(3):
        if fresh(attempt).state == State.QUEUED:
            finish(claim(), drive(text=text))
    return fresh(attempt)


def took(seconds: float) -> None:
    """The last run held its server for so long."""
    run = Run.objects.order_by("-pk")[0]
    Run.objects.filter(pk=run.pk).update(ended_at=run.started_at + timedelta(seconds=seconds))


# -- the two lines ---------------------------------------------------------------------------------------------


def test_practice_waits_while_a_graded_attempt_does(
    kim: User, lee: User, post: Submit, practise: Practise
) -> None:
    first, second = practise(kim), post(lee)
    held = claim()
    assert held.attempt.pk == second.pk, "though it came later"
    finish(held, drive())
    assert claim().attempt.pk == first.pk


def test_a_graded_attempt_that_pauses_before_its_next_run_still_stands_before_practice(
    kim: User, lee: User, post: Submit, practise: Practise
) -> None:
    post(lee)
    finish(claim(), drive("disturbed", reason="slot_disturbed"))
    practise(kim)
    from labs.actions.claim import claim_next

    assert claim_next("w") is None, "the endpoint is free, but who returned comes first"
    Attempt.objects.update(not_before=None)
    assert claim_next("w").attempt.user == lee  # type: ignore[union-attr]


def test_a_graded_attempt_that_may_not_run_here_is_in_nobodys_way(
    kim: User, lee: User, post: Submit, practise: Practise, toy_step: ToyStep, course: Course
) -> None:
    graded = post(lee)
    Attempt.objects.filter(pk=graded.pk).update(step="cache-break")  # its canaries are not green there
    mine = practise(kim)
    assert claim().attempt.pk == mine.pk


def test_practice_is_first_come_first_served_for_itself(kim: User, lee: User, practise: Practise) -> None:
    first, second = practise(kim), practise(lee)
    finish(claim(), drive("disturbed", reason="slot_disturbed"))
    assert fresh(first).returned
    assert claim().attempt.pk == first.pk, "one that returned stands at the head of its line"
    assert fresh(second).state == State.QUEUED


def test_one_student_has_one_run_at_a_time_of_either_sort(
    kim: User, post: Submit, practise: Practise
) -> None:
    practise(kim)
    with pytest.raises(Refused):
        post(kim)
    assert not AttemptCount.objects.filter(charged__gt=0).exists()


# -- it counts nowhere -----------------------------------------------------------------------------------------


def test_practice_leaves_no_grade_no_charge_and_no_entry(
    kim: User, course: Course, practise: Practise, toy_step: ToyStep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        toy_step, "scores", lambda seen: iter([Score("voice", 1.0, {}, RunRecord({}))]), raising=False
    )
    attempt = whole(practise, kim)
    assert (attempt.state, attempt.charged) == (State.GRADED, False)
    assert not GradeEvent.objects.exists() and not Grade.objects.exists() and not BoardEntry.objects.exists()
    assert not AttemptCount.objects.filter(charged__gt=0).exists()
    assert regradable(course.pk, "toy").count() == 0
    cells = {cell for line in gradebook_of(course).lines for cell in map(repr, line.cells)}
    assert len(cells) == 1, "an empty cell at every step, the practised one too"


@pytest.mark.parametrize(
    ("outcome", "reason"), [("errored", "rejected_by_server"), ("errored", ""), ("cancelled", "")]
)
def test_practice_that_ended_otherwise_is_in_no_gradebook(
    kim: User, course: Course, practise: Practise, outcome: str, reason: str
) -> None:
    attempt = practise(kim)
    finish(claim(), drive(outcome, reason=reason))
    assert fresh(attempt).state in (State.ERRORED, State.CANCELLED)
    assert {cell.state for line in gradebook_of(course).lines for cell in line.cells} == {""}
    assert regradable(course.pk, "toy").count() == 0


def test_open_checks_of_practice_give_nothing_back(kim: User, practise: Practise, post: Submit) -> None:
    post(kim)
    finish(claim(), drive())
    cancel(Attempt.objects.get())
    assert charged(kim) == 1
    attempt = whole(practise, kim, "sick")
    assert (attempt.state, attempt.runs.count()) == (State.GRADED, 4)
    assert charged(kim) == 1


def test_nobody_gives_points_for_practice(
    kim: User, lee: User, practise: Practise, toy_step: ToyStep
) -> None:
    with pytest.raises(Refused):
        override(whole(practise, kim), toy_step, lee, 5, "well done")
    assert not GradeEvent.objects.exists()


def test_practice_opens_no_step_that_waits_for_another(
    kim: User, course: Course, practise: Practise, toy_step: ToyStep, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole(practise, kim)
    monkeypatch.setattr(toy_step, "requires", frozenset({"toy"}), raising=False)
    assert sheet_for(kim, course, toy_step).waits_for == [toy_step]


def test_a_fault_in_practice_makes_no_graded_attempt_count_earlier(
    kim: User, course: Course, practise: Practise, toy_step: ToyStep
) -> None:
    practise(kim)
    finish(claim(), drive("errored", reason="rejected_by_server"))
    StepRule.objects.create(
        course=course,
        step="toy",
        zone="UTC",
        due_at=timezone.now() - timedelta(hours=2),
        late="reduced",
        late_percent_a_day=10,
    )
    Attempt.objects.update(submitted_at=timezone.now() - timedelta(days=1))
    now = timezone.now()
    standing, counts_at = sheet_for(kim, course, toy_step).standing(now)
    assert (standing.percent, counts_at) == (10, now)


def test_who_practised_before_has_no_first_attempt_on_a_board(
    kim: User, lee: User, course: Course, practise: Practise, post: Submit
) -> None:
    practise(kim)
    finish(claim(), drive())
    cancel(Attempt.objects.get())
    for user in (kim, lee):
        attempt = post(user)
        enter(attempt, [Score("predictor", 1.0, {}, RunRecord({}))])
        cancel(attempt)
    assert dict(BoardEntry.objects.values_list("user__username", "is_first")) == {"kim": False, "lee": True}


# -- its own inputs --------------------------------------------------------------------------------------------


def test_practice_never_shows_what_a_graded_attempt_asks(
    kim: User, course: Course, practise: Practise, toy_step: ToyStep
) -> None:
    graded = sheet_for(kim, course, toy_step).challenge
    drawn = [sheet_for(kim, course, toy_step, practice=True).challenge]
    assert practise(kim).rounds.get().challenge == drawn[0]
    cancel(Attempt.objects.get())
    drawn.append(sheet_for(kim, course, toy_step, practice=True).challenge)
    assert len({str(one) for one in [graded, *drawn]}) == 3
    assert sheet_for(kim, course, toy_step).challenge == graded, "nor does it move that"


def test_a_page_of_one_sort_posts_nothing_into_the_other(kim: User, post: Submit, practise: Practise) -> None:
    practise(kim)
    finish(claim(), drive())
    with pytest.raises(Refused):
        post(kim, "two")
    practise(kim, "two")
    assert Attempt.objects.get().rounds.count() == 2


# -- who may -------------------------------------------------------------------------------------------------------


def test_practice_goes_on_after_the_end_and_without_attempts_and_never_before_the_step_opens(
    kim: User, course: Course, post: Submit, practise: Practise
) -> None:
    now = timezone.now()
    rule = StepRule.objects.create(course=course, step="toy", zone="UTC", opens_at=now + timedelta(days=1))
    with pytest.raises(Refused, match="opens at"):
        practise(kim)
    StepRule.objects.filter(pk=rule.pk).update(opens_at=None, due_at=now - timedelta(days=1))
    AttemptCount.objects.create(course=course, user=kim, step="toy", charged=3)
    with pytest.raises(Refused):
        post(kim)
    assert practise(kim).late_percent == 0


def test_a_course_may_have_none(kim: User, lee: User, course: Course, practise: Practise) -> None:
    Enrolment.objects.filter(user=lee).update(role=Role.INSTRUCTOR)
    set_quota(course, 0, lee)
    with pytest.raises(Refused, match="no practice"):
        practise(kim)
    row = AuditRow.objects.get()
    assert (row.by, row.details) == (lee, {"practice_s": 0, "before": 300})


# -- the quota -------------------------------------------------------------------------------------------------


def test_a_run_costs_as_long_as_it_held_its_server(
    kim: User, lee: User, course: Course, practise: Practise
) -> None:
    practise(kim)
    finish(claim(), drive())
    took(12.2)
    assert (quota_of(kim, course).used_s, quota_of(kim, course).left_s) == (13, 287)
    assert quota_of(lee, course).used_s == 0


def test_graded_runs_cost_none(kim: User, course: Course, post: Submit) -> None:
    post(kim)
    finish(claim(), drive())
    took(100)
    assert quota_of(kim, course).used_s == 0


@pytest.mark.parametrize(
    ("outcome", "text", "used_s"),
    [
        ("recorded", "right", 50),
        ("cancelled", "", 50),
        ("recorded", "sick", 0),
        ("disturbed", "", 0),
        ("lost", "", 0),
    ],
)
def test_what_the_server_spoilt_is_free_and_a_stop_is_not(
    kim: User, course: Course, practise: Practise, outcome: str, text: str, used_s: int
) -> None:
    practise(kim)
    finish(claim(), drive(outcome, text=text))
    took(50)
    assert quota_of(kim, course).used_s == used_s


def test_who_has_used_it_up_is_told_so_and_goes_on_with_what_counts(
    kim: User, course: Course, post: Submit, practise: Practise
) -> None:
    practise(kim)
    finish(claim(), drive())
    took(300)
    with pytest.raises(Refused, match="300 of 300 machine-seconds"):
        practise(kim, "two")
    assert Attempt.objects.get().state == State.OPEN
    cancel(Attempt.objects.get())
    with pytest.raises(Refused, match="used up"):
        practise(kim)
    assert post(kim).state == State.QUEUED
    cancel(Attempt.objects.for_grade().get())
    Course.objects.update(practice_s=F("practice_s") + 1)
    assert practise(kim).state == State.QUEUED


def test_a_server_that_spoils_practice_is_left_alone_for_a_while(kim: User, practise: Practise) -> None:
    for _ in range(3):
        practise(kim)
        finish(claim(), drive("errored", reason="rejected_by_server"))
    with pytest.raises(Refused, match="spoilt 3"):
        practise(kim)
    Attempt.objects.update(finished_at=timezone.now() - timedelta(hours=2))
    practise(kim)


# -- the sweep, and Stop -----------------------------------------------------------------------------------------


def test_practice_that_never_began_is_closed_and_blames_no_server(kim: User, practise: Practise) -> None:
    attempt = practise(kim)
    expire_queued(attempt)
    assert (fresh(attempt).state, fresh(attempt).reason) == (State.CANCELLED, "time_limit")


def test_an_open_practice_that_nobody_came_back_to_is_ended_without_a_grade(
    kim: User, practise: Practise, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labs.actions.sweep.wake", lambda task: True)
    attempt = practise(kim)
    finish(claim(), drive())
    settings.LABHUB_OPEN_ATTEMPT_S = -1
    sweep_once()
    assert fresh(attempt).state == State.GRADED
    assert not GradeEvent.objects.exists()


def test_stop_ends_practice_wherever_it_is(kim: User, practise: Practise) -> None:
    queued = practise(kim)
    cancel(queued)
    assert fresh(queued).state == State.CANCELLED
    running = practise(kim)
    held = claim()
    cancel(running)
    finish(held, drive("cancelled"))
    assert fresh(running).state == State.CANCELLED
    assert fresh(running).charged is False
    opened = practise(kim)
    finish(claim(), drive())
    cancel(opened)
    assert fresh(opened).state == State.CANCELLED
    assert Endpoint.objects.get().lease.holder == ""
