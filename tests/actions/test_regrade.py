"""Regrading: nothing is executed, nothing changes before it is applied, and nobody gets zero for a fault of ours."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now

from labs.actions.errors import Refused
from labs.actions.finish import finish
from labs.actions.override import clear_override, override
from labs.actions.regrade import apply as applying
from labs.actions.regrade import build as building
from labs.actions.regrade.apply import apply, cancel
from labs.actions.regrade.build import build, start
from labs.actions.regrade.report import counts_of, effects_of, kept_of, lines_of, matrix_of, outdated
from labs.actions.sweep import sweep_once
from labs.grading.checks import Check, Verdict
from labs.limits import limits_in_force
from labs.models import (
    Attempt,
    BoardEntry,
    Course,
    FrameStore,
    Grade,
    GradeEvent,
    RegradeRow,
    RegradeSet,
    Run,
    State,
    StepLimits,
    StoredRecording,
)
from labs.steps.base import Score, Seen
from tests.actions.conftest import Submit
from tests.actions.rows import claim, fresh
from tests.actions.toy import ToyRound, ToyStep, drive

Graded = Callable[..., Attempt]
Rule = dict[str, Verdict]

pytestmark = pytest.mark.usefixtures("endpoint")


@pytest.fixture
def teacher(course: Course) -> User:
    return User.objects.create_user("teacher")


@pytest.fixture
def rule(monkeypatch: pytest.MonkeyPatch) -> Rule:
    """The step's present code: rule['text'] is the verdict of an answer; 'boom' crashes; 'frames' looks at them."""
    verdicts: dict[str, Verdict] = {"wrong": Verdict.FAIL, "sick": Verdict.INCONCLUSIVE}
    before = ToyRound.grade

    def grade(self: ToyRound, seen: Seen) -> Iterator[Check]:
        run = seen[self.key].run
        assert run is not None
        text = run["one"].figures.text
        if text == "boom" and verdicts.get("boom"):
            raise RuntimeError("the new grader is broken")
        if text == "reads frames" and verdicts.get("reads frames"):
            assert len(run["one"].frames)
        for check in before(self, seen):
            yield dataclasses.replace(check, verdict=verdicts.get(text, Verdict.PASS))

    monkeypatch.setattr(ToyRound, "grade", grade)
    return verdicts


@pytest.fixture
def graded(post: Submit) -> Graded:
    def do(user: User, *texts: str) -> Attempt:
        for key, text in zip(("one", "two"), texts, strict=True):
            attempt = post(user, key)
            finish(claim(), drive(text=text))
        return fresh(attempt)

    return do


def preview(course: Course, step: ToyStep, by: User | None = None, **limits: int) -> RegradeSet:
    found = start(course, step, by, "the second rule was too mild", limits)
    assert build(found)
    assert found.state == RegradeSet.State.PREVIEW
    return found


def points_of(user: User) -> int:
    return Grade.objects.select_related("event").get(user=user).event.points


def everything() -> list[object]:
    """All that a student's grade is made of."""
    return [
        *GradeEvent.objects.order_by("pk").values_list(),
        *Grade.objects.order_by("pk").values_list(),
        *Attempt.objects.order_by("pk").values_list("pk", "state", "version", "charged"),
        *StepLimits.objects.values_list(),
    ]


def test_a_preview_changes_no_grade_and_apply_changes_all(
    course: Course, toy_step: ToyStep, kim: User, lee: User, teacher: User, graded: Graded, rule: Rule
) -> None:
    attempt = graded(kim, "right", "mild")
    graded(lee, "right", "right")
    before = everything()
    rule["mild"] = Verdict.FAIL
    regrade = preview(course, toy_step, teacher)
    assert everything() == before
    assert matrix_of(regrade).counts == {(10, 5): 1, (10, 10): 1}
    (loser,) = effects_of(regrade)
    assert (loser.username, loser.before, loser.after, loser.loses) == ("kim", 10, 5, True)
    assert loser.attempt_id == attempt.pk
    assert apply(regrade, teacher)
    assert (points_of(kim), points_of(lee)) == (5, 10)
    event = attempt.grade_events.last()
    assert (event.kind, event.by, event.comment) == ("regrade", teacher, "the second rule was too mild")
    assert attempt.grade_events.count() == 2, "the old event stays in the history"
    assert GradeEvent.objects.filter(attempt__user=lee).count() == 1, "equal verdicts need no new event"
    assert effects_of(regrade)[0].before == 10, "the set still says what it did"


def test_cancel_changes_nothing_and_drops_the_set(
    course: Course, toy_step: ToyStep, kim: User, teacher: User, graded: Graded, rule: Rule
) -> None:
    graded(kim, "right", "mild")
    before = everything()
    rule["mild"] = Verdict.FAIL
    regrade = preview(course, toy_step, teacher)
    assert cancel(regrade, teacher)
    assert everything() == before
    assert not RegradeRow.objects.exists()
    assert (regrade.state, regrade.ended_by) == (RegradeSet.State.CANCELLED, teacher)
    assert not apply(regrade, teacher)
    assert not cancel(regrade, teacher)
    assert everything() == before


def test_a_second_apply_does_nothing(
    course: Course, toy_step: ToyStep, kim: User, graded: Graded, rule: Rule
) -> None:
    graded(kim, "right", "mild")
    rule["mild"] = Verdict.FAIL
    regrade = preview(course, toy_step)
    twin = RegradeSet.objects.get(pk=regrade.pk)
    assert apply(regrade, None)
    before = everything()
    assert not apply(twin, None)
    assert not cancel(twin, None)
    assert everything() == before


def test_two_previews_are_equal_to_the_byte(
    course: Course, toy_step: ToyStep, kim: User, lee: User, graded: Graded, rule: Rule
) -> None:
    graded(kim, "right", "mild")
    graded(lee, "boom", "right")
    rule |= {"mild": Verdict.FAIL, "boom": Verdict.PASS}
    first = preview(course, toy_step)
    lines = list(lines_of(first))
    cancel(first, None)
    second = preview(course, toy_step)
    assert list(lines_of(second)) == lines
    assert (second.digest, len(lines)) == (first.digest, 2)


def test_one_open_set_a_step(course: Course, toy_step: ToyStep) -> None:
    first = preview(course, toy_step)
    with pytest.raises(Refused, match="open already"):
        start(course, toy_step, None, "again", {})
    cancel(first, None)
    preview(course, toy_step)


def test_a_grader_that_crashes_on_one_attempt_keeps_it_and_grades_the_others(
    course: Course, toy_step: ToyStep, kim: User, lee: User, graded: Graded, rule: Rule
) -> None:
    kept = graded(kim, "boom", "right")
    graded(lee, "mild", "mild")
    rule |= {"mild": Verdict.FAIL, "boom": Verdict.PASS}
    regrade = preview(course, toy_step)
    (row,) = kept_of(regrade)
    assert (row.attempt_id, row.kept, row.points) == (kept.pk, "grader_error", None)
    assert "the new grader is broken" in row.detail
    assert matrix_of(regrade).counts == {(10, 0): 1}
    apply(regrade, None)
    assert (points_of(kim), points_of(lee)) == (10, 0)
    assert kept.grade_events.count() == 1


def test_purged_frames_keep_what_needs_them_and_only_that(
    course: Course, toy_step: ToyStep, kim: User, lee: User, graded: Graded, rule: Rule
) -> None:
    graded(kim, "reads frames", "right")
    graded(lee, "mild", "mild")
    for stored in StoredRecording.objects.all():
        stored.data["figures"]["pieces"] = 3
        stored.save()
    assert not FrameStore.objects.exists()
    rule |= {"mild": Verdict.FAIL, "reads frames": Verdict.PASS}
    regrade = preview(course, toy_step)
    assert [(row.attempt.user, row.kept) for row in kept_of(regrade)] == [(kim, "frames_purged")]
    assert matrix_of(regrade).counts == {(10, 0): 1}


def test_kept_frames_are_read_where_a_rule_needs_them(
    course: Course, toy_step: ToyStep, kim: User, graded: Graded, rule: Rule
) -> None:
    from labs.measure.frames import pack_frames
    from labs.measure.recording import Frame

    graded(kim, "reads frames", "mild")
    for stored in StoredRecording.objects.all():
        FrameStore.objects.create(recording=stored, blob=pack_frames([Frame(1, b"x")]))
    rule |= {"mild": Verdict.FAIL, "reads frames": Verdict.PASS}
    assert matrix_of(preview(course, toy_step)).counts == {(10, 5): 1}


def test_an_attempt_without_runs_never_becomes_zero(
    course: Course, toy_step: ToyStep, kim: User, graded: Graded, monkeypatch: pytest.MonkeyPatch
) -> None:
    graded(kim, "right", "right")
    monkeypatch.setattr(ToyRound, "grade", lambda self, seen: iter(()))
    regrade = preview(course, toy_step)
    assert [row.kept for row in kept_of(regrade)] == ["nothing_recorded"]
    apply(regrade, None)
    assert points_of(kim) == 10


def test_what_stopped_on_a_fault_of_ours_is_graded_after_all(
    course: Course, toy_step: ToyStep, kim: User, post: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = post(kim)
    finish(claim(), drive(text="crash"))
    assert fresh(attempt).reason == "grader_error"
    monkeypatch.setattr(ToyRound, "grade", _passes)
    regrade = preview(course, toy_step)
    assert matrix_of(regrade).counts == {(None, 5): 1}
    apply(regrade, None)
    assert points_of(kim) == 5
    assert fresh(attempt).state == State.ERRORED, "a terminal state never changes"


def test_what_is_rescued_comes_onto_its_boards_too(
    course: Course, toy_step: ToyStep, kim: User, post: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every round was recorded; only grading the last one crashed."""

    def scores(self: ToyStep, seen: Seen) -> Iterator[Score]:
        yield Score("ttft", 12.5, {}, seen.run_of("two"))

    monkeypatch.setattr(ToyStep, "scores", scores)
    post(kim)
    finish(claim(), drive())
    attempt = post(kim, "two")
    finish(claim(), drive(text="crash"))
    assert (fresh(attempt).reason, BoardEntry.objects.count()) == ("grader_error", 0)
    monkeypatch.setattr(ToyRound, "grade", _passes)
    apply(preview(course, toy_step), None)
    entry = BoardEntry.objects.get()
    assert (entry.attempt, entry.value, entry.counts) == (attempt, 12.5, True)


def _passes(self: ToyRound, seen: Seen) -> Iterator[Check]:
    from labs.text import N_

    assert seen[self.key].run is not None
    yield Check(f"{self.key}-check", self.key, N_("Toy"), 5, Verdict.PASS, N_("Because."))


def test_the_best_attempt_counts_after_a_regrade_too(
    course: Course, toy_step: ToyStep, kim: User, graded: Graded, rule: Rule
) -> None:
    best, other = graded(kim, "mild", "mild"), graded(kim, "right", "wrong")
    assert Grade.objects.get().event.attempt == best
    rule["mild"] = Verdict.FAIL
    regrade = preview(course, toy_step)
    (effect,) = effects_of(regrade)
    assert (effect.before, effect.after, effect.attempt_id) == (10, 5, best.pk)
    apply(regrade, None)
    assert Grade.objects.get().event.attempt == other


def test_runs_that_end_after_the_preview_are_not_lost(
    course: Course, toy_step: ToyStep, kim: User, lee: User, graded: Graded, rule: Rule
) -> None:
    graded(kim, "right", "mild")
    rule["mild"] = Verdict.FAIL
    regrade = preview(course, toy_step)
    rule["mild"] = Verdict.PASS  # a worker that still has the old code
    late = graded(lee, "right", "mild")
    again = graded(kim, "right", "right")
    rule["mild"] = Verdict.FAIL
    assert apply(regrade, None)
    assert (points_of(kim), points_of(lee)) == (10, 5)
    assert again.grade_events.count() == 1
    assert [event.kind for event in late.grade_events.all()] == ["auto", "regrade"]


# -- crashes ---------------------------------------------------------------------------------------------------


def test_a_build_that_is_killed_changes_nothing_and_goes_on(
    course: Course,
    toy_step: ToyStep,
    kim: User,
    graded: Graded,
    rule: Rule,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for _ in range(3):
        graded(kim, "right", "mild")
    rule["mild"] = Verdict.FAIL
    before = everything()
    regrade = start(course, toy_step, None, "", {})
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(building, "CHUNK", 1)
        patch.setattr(building, "build_chunk", _dies_at(2, building.build_chunk))
        build(regrade)
    assert (everything(), regrade.rows.count()) == (before, 2)
    assert not apply(regrade, None), "half a set cannot be applied"
    assert everything() == before
    RegradeSet.objects.update(beat_at=Now() - timedelta(minutes=5))
    building.build_due()
    regrade.refresh_from_db()
    assert (regrade.state, regrade.rows.count()) == (RegradeSet.State.PREVIEW, 3)
    whole = regrade.digest
    cancel(regrade, None)
    assert preview(course, toy_step).digest == whole


def test_an_apply_that_is_killed_changes_nothing(
    course: Course,
    toy_step: ToyStep,
    kim: User,
    lee: User,
    graded: Graded,
    rule: Rule,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graded(kim, "right", "mild")
    graded(lee, "right", "mild")
    rule["mild"] = Verdict.FAIL
    regrade = preview(course, toy_step, **{"points:one-check": 7})
    before = everything()
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(applying, "CHUNK", 1)
        patch.setattr(applying, "_append", _dies_at(1, applying._append))
        apply(regrade, None)
    regrade.refresh_from_db()
    assert (everything(), regrade.state) == (before, RegradeSet.State.PREVIEW)
    assert apply(regrade, None)


class Killed(BaseException):
    """As a process ends: nothing may catch it."""


def _dies_at(call: int, do: Any) -> Any:
    calls = iter(range(1000))

    def dying(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == call:
            raise Killed
        return do(*args, **kwargs)

    return dying


def test_the_sweep_wakes_a_build_that_stands_still_and_ends_one_that_never_ends(
    course: Course, toy_step: ToyStep, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[str] = []
    monkeypatch.setattr("labs.actions.sweep.wake", lambda task: woken.append(task.name) is None)
    regrade = start(course, toy_step, None, "", {})
    sweep_once()
    assert "labs.tasks.build_regrades" not in woken
    RegradeSet.objects.update(beat_at=Now() - timedelta(seconds=building.BEAT_S + 1))
    sweep_once()
    assert "labs.tasks.build_regrades" in woken
    RegradeSet.objects.update(created_at=Now() - timedelta(seconds=building.LIMIT_S + 1))
    sweep_once()
    regrade.refresh_from_db()
    assert regrade.state == RegradeSet.State.CANCELLED


def test_a_cancelled_build_writes_no_row(
    course: Course, toy_step: ToyStep, kim: User, graded: Graded
) -> None:
    graded(kim, "right", "right")
    regrade = start(course, toy_step, None, "", {})
    cancel(RegradeSet.objects.get(), None)
    assert not build(regrade)
    assert not RegradeRow.objects.exists()


# -- overrides (case G2) ----------------------------------------------------------------------------------------


def test_an_override_outlives_regrades_and_later_attempts(
    course: Course, toy_step: ToyStep, kim: User, teacher: User, graded: Graded, rule: Rule
) -> None:
    attempt = graded(kim, "right", "wrong")
    override(attempt, toy_step, teacher, 9, "spoke to me about it")
    assert points_of(kim) == 9
    for mild, beneath in ((Verdict.FAIL, 0), (Verdict.PASS, 5)):
        rule |= {"right": mild}
        regrade = preview(course, toy_step)
        assert effects_of(regrade)[0].overridden
        assert apply(regrade, teacher)
        grade = Grade.objects.select_related("event", "automatic").get()
        assert (grade.event.points, grade.automatic.points) == (9, beneath)
    kinds = [event.kind for event in attempt.grade_events.all()]
    assert kinds == ["auto", "override", "regrade", "regrade"], "each leaves one line of history"
    graded(kim, "other", "other")
    grade = Grade.objects.select_related("event", "automatic").get()
    assert (grade.event.points, grade.automatic.points) == (9, 10)
    event = clear_override(attempt, toy_step, teacher, "no longer needed")
    assert (event.kind, event.by, points_of(kim)) == ("cleared", teacher, 10)
    assert Grade.objects.get().automatic is None


def test_a_crash_in_a_regrade_leaves_the_override(
    course: Course, toy_step: ToyStep, kim: User, teacher: User, graded: Graded, rule: Rule
) -> None:
    attempt = graded(kim, "boom", "wrong")
    override(attempt, toy_step, teacher, 9, "why")
    rule["boom"] = Verdict.PASS
    apply(preview(course, toy_step), teacher)
    grade = Grade.objects.select_related("event", "automatic").get()
    assert (grade.event.points, grade.automatic.points) == (9, 5)


def test_an_override_may_be_changed_and_needs_a_comment(
    course: Course, toy_step: ToyStep, kim: User, teacher: User, graded: Graded
) -> None:
    attempt = graded(kim, "right", "wrong")
    for points, comment in ((9, " "), (11, "why"), (-1, "why")):
        with pytest.raises(Refused):
            override(attempt, toy_step, teacher, points, comment)
    assert points_of(kim) == 5
    with pytest.raises(Refused):
        clear_override(attempt, toy_step, teacher, "there is none")
    override(attempt, toy_step, teacher, 9, "one")
    override(attempt, toy_step, teacher, 8, "two")
    grade = Grade.objects.select_related("event", "automatic").get()
    assert (grade.event.points, grade.automatic.points) == (8, 5)


def test_points_for_an_attempt_that_was_never_graded(
    toy_step: ToyStep, kim: User, teacher: User, post: Submit
) -> None:
    attempt = post(kim)
    with pytest.raises(Refused, match="not ended"):
        override(attempt, toy_step, teacher, 3, "why")
    finish(claim(), drive("errored", reason="rejected_by_server"))
    attempt = fresh(attempt)
    override(attempt, toy_step, teacher, 3, "the server was at fault")
    assert points_of(kim) == 3
    clear_override(attempt, toy_step, teacher, "a mistake of mine")
    assert not Grade.objects.exists()


# -- limits ----------------------------------------------------------------------------------------------------


def test_limits_are_previewed_and_come_into_force_when_applied(
    course: Course, toy_step: ToyStep, kim: User, lee: User, teacher: User, graded: Graded
) -> None:
    attempt = graded(kim, "right", "wrong")
    limits = {"points:one-check": 3, "points:two-check": 7}
    dropped = preview(course, toy_step, teacher, **limits)
    assert matrix_of(dropped).counts == {(5, 3): 1}
    cancel(dropped, teacher)
    assert limits_in_force(course.pk, "toy").version == 0
    regrade = preview(course, toy_step, teacher, **limits)
    apply(regrade, teacher)
    assert StepLimits.objects.get().values == limits
    assert (points_of(kim), attempt.grade_events.last().limits_version) == (3, 1)
    assert outdated(course.pk, "toy", 1, 1) == 0
    graded(lee, "right", "wrong")
    assert points_of(lee) == 3, "new attempts are graded by the limits in force"
    back = preview(course, toy_step, teacher)
    assert (back.limits, back.limits_version) == ({}, 2)
    apply(back, teacher)
    assert (points_of(kim), points_of(lee)) == (5, 5)
    assert outdated(course.pk, "toy", 1, 2) == 0
    assert outdated(course.pk, "toy", 2, 2) == 2


def test_counts(course: Course, toy_step: ToyStep, kim: User, graded: Graded, rule: Rule) -> None:
    graded(kim, "right", "mild")
    graded(kim, "wrong", "right")
    graded(kim, "boom", "right")
    rule |= {"mild": Verdict.FAIL, "wrong": Verdict.PASS, "boom": Verdict.PASS}
    counts = counts_of(preview(course, toy_step))
    assert counts == {"attempts": 3, "lower": 1, "higher": 1, "kept": 1}
    assert Run.objects.count() == 6, "nothing is executed"
