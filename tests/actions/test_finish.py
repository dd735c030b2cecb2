"""Claiming and finishing: fencing, repeats within their budget, and who pays."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from labs.actions import grade as grading
from labs.actions.claim import claim_next, extend
from labs.actions.finish import finish, put_back
from labs.actions.sweep import end_lost
from labs.models import (
    Attempt,
    AttemptCount,
    Endpoint,
    Grade,
    GradeEvent,
    Lease,
    Run,
    State,
    StoredRecording,
)
from labs.steps import all_steps
from tests.actions.conftest import Submit
from tests.actions.rows import charged, claim, fresh
from tests.actions.toy import drive

pytestmark = pytest.mark.usefixtures("endpoint")


def test_first_come_first_served_on_one_endpoint(kim: User, lee: User, post: Submit) -> None:
    first, second = post(kim), post(lee)
    held = claim()
    assert held.attempt.pk == first.pk
    assert claim_next("other worker") is None
    finish(held, drive())
    assert claim().attempt.pk == second.pk


def test_an_endpoint_that_is_not_up_gets_nothing(kim: User, post: Submit) -> None:
    post(kim)
    Endpoint.objects.update(state=Endpoint.State.DOWN)
    assert claim_next("w") is None


def test_a_round_is_recorded_and_the_next_opens(kim: User, post: Submit) -> None:
    attempt = post(kim)
    assert finish(claim(), drive())
    assert fresh(attempt).state == State.OPEN
    round_ = attempt.rounds.get()
    assert round_.accepted_run.outcome == Run.Outcome.RECORDED
    assert round_.accepted_run.recordings.get().data["figures"]["text"] == "right"
    assert not GradeEvent.objects.exists()


def test_the_last_round_grades(kim: User, post: Submit) -> None:
    attempt = post(kim)
    finish(claim(), drive())
    post(kim, "two")
    finish(claim(), drive(text="wrong"))
    assert fresh(attempt).state == State.GRADED
    event = GradeEvent.objects.get()
    assert (event.points, event.open_points) == (5, 0)
    assert Grade.objects.get(user=kim, step="toy").event == event
    assert charged(kim) == 1


def test_the_best_attempt_counts(kim: User, post: Submit) -> None:
    for text in ("right", "wrong"):
        post(kim)
        finish(claim(), drive())
        post(kim, "two")
        finish(claim(), drive(text=text))
    assert GradeEvent.objects.count() == 2
    assert Grade.objects.get().event.points == 10


def test_the_same_result_twice_changes_nothing(
    kim: User, post: Submit, caplog: pytest.LogCaptureFixture
) -> None:
    attempt = post(kim)
    held = claim()
    assert finish(held, drive())
    before = fresh(attempt).version
    assert not finish(held, drive(text="wrong"))
    assert fresh(attempt).version == before
    assert StoredRecording.objects.count() == 1
    assert "late result of run 1 of" in caplog.text


def test_a_late_result_with_an_old_token_changes_nothing(kim: User, post: Submit) -> None:
    attempt = post(kim)
    late = claim()
    Lease.objects.update(expires_at=timezone.now() - timedelta(seconds=1), run=None)
    newer = claim_next("other")
    assert newer is None  # the attempt is running; only the sweep may take it back
    Lease.objects.update(token=99, holder="other")
    assert not finish(late, drive())
    assert fresh(attempt).state == State.RUNNING
    assert not StoredRecording.objects.exists()
    assert Run.objects.get().outcome == ""


def test_a_beat_keeps_only_what_is_still_ours(kim: User, post: Submit) -> None:
    post(kim)
    held = claim()
    assert extend("w", [held.lease]) == {held.lease}
    Lease.objects.update(holder="other")
    assert extend("w", [held.lease]) == set()
    Lease.objects.update(holder="w", expires_at=timezone.now() - timedelta(seconds=1))
    assert extend("w", [held.lease]) == set()


@pytest.mark.parametrize(
    ("outcome", "text", "reason"),
    [
        ("recorded", "sick", ""),
        ("disturbed", "right", "slot_disturbed"),
        ("errored", "", "idle_timeout"),
        ("errored", "", "endpoint_down"),
        ("lost", "", "worker_lost"),
    ],
)
def test_a_fault_of_the_server_returns_to_the_head_and_is_not_charged(
    kim: User, lee: User, post: Submit, outcome: str, text: str, reason: str
) -> None:
    attempt = post(kim)
    post(lee)
    finish(claim(), drive(outcome, text=text, reason=reason))
    assert fresh(attempt).state == State.QUEUED
    assert fresh(attempt).returned
    for _ in range(2):
        held = claim()
        assert held.attempt.pk == attempt.pk, "it stands at the head again"
        finish(held, drive(outcome, text=text, reason=reason))
    after = fresh(attempt)
    if outcome in {"errored", "lost"}:
        assert (after.state, after.reason) == (State.ERRORED, reason)
        assert AttemptCount.objects.get(user=kim).charged == 0
    else:
        assert after.state == State.OPEN, "after three runs the round is accepted with its check open"
    assert attempt.runs.count() == 3


def test_an_open_check_at_the_end_gives_the_attempt_back(kim: User, post: Submit) -> None:
    attempt = post(kim)
    finish(claim(), drive())
    post(kim, "two")
    for _ in range(3):
        finish(claim(), drive(text="sick"))
    assert fresh(attempt).state == State.GRADED
    event = GradeEvent.objects.get()
    assert (event.points, event.open_points) == (5, 5)
    assert charged(kim) == 0


def test_a_rejected_prompt_is_not_tried_again(kim: User, post: Submit) -> None:
    attempt = post(kim)
    finish(claim(), drive("errored", reason="rejected_by_server"))
    assert (fresh(attempt).state, fresh(attempt).reason) == (State.ERRORED, "rejected_by_server")
    assert charged(kim) == 0


def test_a_broken_grader_costs_nobody(kim: User, post: Submit) -> None:
    attempt = post(kim)
    finish(claim(), drive(text="crash"))
    assert (fresh(attempt).state, fresh(attempt).reason) == (State.ERRORED, "grader_error")
    assert charged(kim) == 0
    assert StoredRecording.objects.count() == 1, "what was recorded is kept for the instructor"


def test_a_step_that_is_gone_costs_nobody_and_frees_the_endpoint(
    kim: User, post: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = post(kim)
    held = claim()
    monkeypatch.delitem(all_steps(), "toy")
    assert finish(held, drive())
    assert (fresh(attempt).state, fresh(attempt).reason) == (State.ERRORED, "grader_error")
    assert charged(kim) == 0
    assert Lease.objects.get().holder == ""
    monkeypatch.undo()


def test_what_no_database_can_hold_is_replaced(kim: User, post: Submit) -> None:
    """Postgres refuses NUL and lone surrogates, and the run would be lost for what a model wrote."""
    post(kim)
    assert finish(claim(), drive(text="a\x00b\ud800c"))
    assert StoredRecording.objects.get().data["figures"]["text"] == "a\ufffdb\ufffdc"


def test_an_instructors_points_that_come_first_in_this_moment_cost_no_run(
    kim: User, lee: User, post: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    post(kim, "one")
    finish(claim(), drive(text="right"))
    attempt = post(kim, "two")
    locked = grading.locked_grade
    looked = []

    def none_yet(of: Attempt) -> Grade | None:
        looked.append(of)
        if len(looked) > 1:
            return locked(of)
        given = GradeEvent.objects.create(
            attempt=of, kind=GradeEvent.Kind.OVERRIDE, step_version=1, points=1, checks=[], by=lee
        )
        Grade.objects.create(course=of.course, user=of.user, step=of.step, event=given)
        return None

    monkeypatch.setattr(grading, "locked_grade", none_yet)
    assert finish(claim(), drive(text="right"))
    assert fresh(attempt).state == State.GRADED
    grade = Grade.objects.get()
    assert grade.is_overridden
    assert grade.automatic is not None
    assert grade.automatic.points == 10


def test_put_back_is_uncounted(kim: User, post: Submit) -> None:
    attempt = post(kim)
    for _ in range(4):
        assert put_back(claim(), "busy")
    assert fresh(attempt).state == State.QUEUED
    finish(claim(), drive(text="sick"))
    assert fresh(attempt).state == State.QUEUED, "the four that sent nothing do not count towards three"


def test_lease_run_and_attempt_are_locked_in_one_order(kim: User, post: Submit) -> None:
    """Postgres ends one of two transactions that take them in different orders."""
    post(kim)
    held = claim()
    with CaptureQueriesContext(connection) as by_worker:
        finish(held, drive("disturbed", reason="slot_disturbed"))
    claim()
    Lease.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    with CaptureQueriesContext(connection) as by_sweep:
        end_lost(Lease.objects.get())
    for queries in (by_worker, by_sweep):
        tables = re.findall(r'UPDATE "labs_(\w+)"', " ".join(q["sql"] for q in queries))
        assert tables[:3] == ["lease", "run", "attempt"]
