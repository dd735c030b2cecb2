"""Pairs: one run for both, answers and grades of their own, and nobody waits for ever."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django import forms
from django.contrib.auth.models import User
from django.utils import timezone

from labs.actions import pairs
from labs.actions.cancel import cancel
from labs.actions.claim import claim_next
from labs.actions.errors import InvalidAnswers, NotFound, Refused
from labs.actions.finish import finish, put_back
from labs.actions.submit import submit
from labs.actions.sweep import sweep_once
from labs.grading.checks import Check, Verdict
from labs.live.status import statuses
from labs.measure.frames import pack_frames
from labs.measure.recording import Frame
from labs.models import (
    Attempt,
    AuditRow,
    Course,
    Endpoint,
    Enrolment,
    FrameStore,
    Grade,
    GradeEvent,
    Pair,
    PairMember,
    Run,
    State,
    StoredRecording,
)
from labs.models.audit import Verb
from labs.pairs import partnership_of
from labs.sheets import sheet_for
from labs.steps import all_steps
from labs.steps.base import Seen, StepForm
from labs.text import N_
from tests.actions.rows import charged, claim, fresh
from tests.actions.toy import ToyRound, ToyStep, drive

pytestmark = pytest.mark.usefixtures("endpoint")
Answer = Callable[..., Attempt]


class DuoForm(StepForm):
    say = forms.CharField()
    guess = forms.CharField()


class DuoRound(ToyRound):
    """`say` goes into the plan, `guess` is what one predicts."""

    Form = DuoForm

    def grade(self, seen: Seen) -> Iterator[Check]:
        run, guess = seen[self.key].run, seen[self.key].answers["guess"]
        text = run["one"].figures.text if run is not None else ""
        if guess == "crash":
            raise RuntimeError("the grader is broken")
        verdict = Verdict.PASS if guess == text else Verdict.FAIL
        if text == "sick" or guess == "unclear":
            verdict = Verdict.INCONCLUSIVE
        yield Check(f"{self.key}-check", self.key, N_("Duo"), 5, verdict, N_("Because."))


class DuoStep(ToyStep):
    key = "duo"
    rounds = (DuoRound("one"), DuoRound("two"))


@pytest.fixture(autouse=True)
def duo() -> Iterator[DuoStep]:
    step = DuoStep()
    all_steps()[step.key] = step
    yield step
    del all_steps()[step.key]


@pytest.fixture
def pair(course: Course, kim: User, lee: User) -> Pair:
    return pairs.make(course, User.objects.create_user("teacher"), kim, lee)


@pytest.fixture
def answer(course: Course, duo: DuoStep) -> Answer:
    def do(
        user: User, guess: str = "right", round_key: str = "one", say: str = "hello", **more: str
    ) -> Attempt:
        data = {"say": say, "guess": guess, **more}
        return submit(user, course, duo, round_key, data, uuid.uuid4())

    return do


def points(user: User) -> int:
    return Grade.objects.get(user=user, step="duo").event.points


def test_one_run_two_answers_two_grades(
    pair: Pair, kim: User, lee: User, course: Course, duo: DuoStep, answer: Answer
) -> None:
    assert sheet_for(kim, course, duo).challenge == sheet_for(lee, course, duo).challenge
    first = answer(kim)
    assert claim_next("w") is None, "it waits for the partner"
    assert statuses([first.pk])[first.pk].partner == "awaited"
    second = answer(lee, "wrong")
    assert (second.rides_on_id, fresh(first).partner_until) == (first.pk, None)
    assert statuses([second.pk])[second.pk].partner == "shared"
    held = claim()
    assert held.attempt.pk == first.pk
    assert claim_next("other") is None, "who rides is not run again"
    assert finish(held, drive())
    assert fresh(first).state == fresh(second).state == State.OPEN
    assert fresh(second).rides_on_id is None
    # The other one first, this time.
    answer(lee, "right", "two")
    answer(kim, "wrong", "two")
    held = claim()
    assert held.attempt.pk == second.pk
    assert finish(held, drive())
    assert fresh(first).state == fresh(second).state == State.GRADED
    assert Run.objects.filter(copy_of=None).count() == 2
    assert (points(kim), points(lee)) == (5, 5)
    assert [e.attempt.user.username for e in GradeEvent.objects.order_by("attempt__user")] == ["kim", "lee"]
    assert [row.answers["guess"] for row in fresh(first).rounds.all()] == ["right", "wrong"]
    assert [row.answers["guess"] for row in fresh(second).rounds.all()] == ["wrong", "right"]
    assert charged(kim) == charged(lee) == 1


def test_the_copy_holds_all_that_was_recorded(pair: Pair, kim: User, lee: User, answer: Answer) -> None:
    first, second = answer(kim), answer(lee)
    held = claim()
    assert finish(held, drive())
    recording = StoredRecording.objects.get(run=held.run)
    FrameStore.objects.create(recording=recording, blob=pack_frames([Frame(1, b"x")]))
    answer(kim, "right", "two")
    answer(lee, "right", "two")
    copy = second.runs.get()
    assert copy.copy_of == held.run and copy.outcome == Run.Outcome.RECORDED
    assert copy.recordings.get().data == recording.data
    assert second.rounds.get(key="one").accepted_run == copy
    assert first.rounds.get(key="one").accepted_run == held.run


def test_the_time_is_up_by_itself_and_who_is_late_gets_new_inputs(
    pair: Pair, kim: User, lee: User, course: Course, duo: DuoStep, answer: Answer
) -> None:
    drawn, said = sheet_for(lee, course, duo).challenge, sheet_for(lee, course, duo).inputs
    first = answer(kim)
    Attempt.objects.update(partner_until=timezone.now() - timedelta(seconds=1), queued_at=timezone.now())
    held = claim_next("w")
    assert held is not None and held.attempt.pk == first.pk
    with pytest.raises(Refused):
        answer(lee, inputs=said)
    assert not Attempt.objects.filter(user=lee).exists()
    assert sheet_for(lee, course, duo).challenge != drawn
    assert finish(held, drive())
    assert fresh(first).state == State.OPEN


def test_after_the_time_but_before_the_run_one_may_still_join(
    pair: Pair, kim: User, lee: User, answer: Answer
) -> None:
    first = answer(kim)
    Attempt.objects.update(partner_until=timezone.now() - timedelta(seconds=1))
    assert answer(lee).rides_on_id == first.pk


def test_one_may_go_alone(pair: Pair, kim: User, lee: User, answer: Answer) -> None:
    first = answer(kim)
    assert pairs.go_alone(first)
    assert not pairs.go_alone(first)
    assert claim().attempt.pk == first.pk
    alone = answer(lee)
    assert alone.rides_on_id is None and alone.pair_number == 1


def test_other_settings_are_refused_and_predictions_are_free(
    pair: Pair, kim: User, lee: User, answer: Answer
) -> None:
    answer(kim)
    with pytest.raises(InvalidAnswers):
        answer(lee, say="something else")
    assert not Attempt.objects.filter(user=lee).exists()
    assert answer(lee, "another guess").rides_on_id is not None


def test_when_the_one_who_runs_stops_the_other_runs_alone(
    pair: Pair, kim: User, lee: User, answer: Answer
) -> None:
    first, second = answer(kim), answer(lee)
    cancel(first)
    assert fresh(first).state == State.CANCELLED
    held = claim()
    assert held.attempt.pk == second.pk
    assert finish(held, drive())
    assert fresh(second).state == State.OPEN and second.runs.get().copy_of is None


def test_when_the_one_who_rides_stops_the_run_goes_on(
    pair: Pair, kim: User, lee: User, answer: Answer
) -> None:
    first, second = answer(kim), answer(lee)
    held = claim()
    cancel(second)
    assert finish(held, drive())
    assert fresh(first).state == State.OPEN
    assert fresh(second).state == State.CANCELLED and charged(lee) == 0
    assert not second.runs.exists()


def test_a_fault_of_the_server_ends_one_and_gives_the_other_a_run(
    pair: Pair, kim: User, lee: User, answer: Answer
) -> None:
    first, second = answer(kim), answer(lee)
    assert finish(claim(), drive("errored", reason="rejected_by_server"))
    assert fresh(first).state == State.ERRORED and charged(kim) == 0
    assert fresh(second).state == State.QUEUED
    assert claim().attempt.pk == second.pk


def test_what_is_requeued_or_put_back_keeps_its_rider(
    pair: Pair, kim: User, lee: User, answer: Answer
) -> None:
    first, second = answer(kim), answer(lee)
    assert put_back(claim())
    assert finish(claim(), drive(text="sick"))
    assert fresh(first).state == fresh(second).state == State.QUEUED
    assert fresh(second).rides_on_id == first.pk
    assert finish(claim(), drive())
    assert fresh(first).state == fresh(second).state == State.OPEN
    assert first.runs.count() == 3 and second.runs.count() == 1


def test_a_run_that_proves_nothing_for_the_partner_is_repeated(
    pair: Pair, kim: User, lee: User, answer: Answer
) -> None:
    first, second = answer(kim), answer(lee, "unclear")
    for _ in range(2):
        assert finish(claim(), drive())
        assert fresh(first).state == State.QUEUED
    assert finish(claim(), drive())
    assert fresh(first).state == fresh(second).state == State.OPEN


def test_a_grader_that_breaks_on_one_hurts_only_that_one(
    pair: Pair, kim: User, lee: User, answer: Answer
) -> None:
    answer(kim), answer(lee)
    finish(claim(), drive())
    first, second = answer(kim, "right", "two"), answer(lee, "crash", "two")
    assert finish(claim(), drive())
    assert fresh(first).state == State.GRADED and points(kim) == 10
    ended = fresh(second)
    assert (ended.state, ended.reason, ended.charged) == (State.ERRORED, "grader_error", False)
    assert not Grade.objects.filter(user=lee).exists()


def test_the_sweep_frees_who_rides_on_what_is_over(pair: Pair, kim: User, lee: User, answer: Answer) -> None:
    first, second = answer(kim), answer(lee)
    Attempt.objects.filter(pk=first.pk).update(state=State.ERRORED)
    sweep_once()
    assert fresh(second).rides_on_id is None
    assert claim().attempt.pk == second.pk


def test_an_ended_pair_lets_everybody_go_on_alone(
    pair: Pair, kim: User, lee: User, course: Course, duo: DuoStep, answer: Answer
) -> None:
    answer(kim), answer(lee)
    finish(claim(), drive())
    waiting = answer(kim, "right", "two")
    pairs.end(course, pair.pk, lee)
    assert fresh(waiting).partner_until is None
    assert finish(claim(), drive())
    alone = answer(lee, "right", "two")
    assert alone.rides_on_id is None and alone.partner_until is None
    assert claim().attempt.pk == alone.pk
    assert sheet_for(kim, course, duo).pair is None
    with pytest.raises(NotFound):
        pairs.end(course, pair.pk, lee)


def test_nobody_waits_for_a_partner_who_cannot_come(pair: Pair, kim: User, lee: User, answer: Answer) -> None:
    pairs.go_alone(answer(kim))
    claim()
    theirs = answer(lee)
    assert theirs.pair_number == 1 and theirs.partner_until is None, (
        "kim's attempt is under way on other inputs"
    )


def test_waiting_for_a_partner_holds_nobody_else_up(
    pair: Pair, kim: User, lee: User, course: Course, answer: Answer
) -> None:
    waiting = answer(kim)
    other = User.objects.create_user("park")
    Enrolment.objects.create(user=other, course=course)
    theirs = answer(other)
    assert statuses([theirs.pk])[theirs.pk].place == 1
    assert statuses([waiting.pk])[waiting.pk].place is None
    assert claim().attempt.pk == theirs.pk


def test_who_asks_and_who_accepts(kim: User, lee: User, course: Course) -> None:
    asked = pairs.invite(course, kim, "lee")
    with pytest.raises(Refused):
        pairs.invite(course, kim, "lee")
    with pytest.raises(NotFound):
        pairs.accept(course, kim, asked.pk)
    assert partnership_of(kim, course) is None
    pairs.accept(course, lee, asked.pk)
    together = partnership_of(kim, course)
    assert together is not None and together.partner == lee
    assert AuditRow.objects.filter(verb=Verb.PAIRED).count() == 2
    with pytest.raises(NotFound):
        pairs.accept(course, lee, asked.pk)


def test_nobody_is_in_two_pairs(pair: Pair, kim: User, course: Course) -> None:
    third = User.objects.create_user("park")
    Enrolment.objects.create(user=third, course=course)
    for do in (lambda: pairs.make(course, kim, kim, third), lambda: pairs.invite(course, kim, "park")):
        with pytest.raises(Refused):
            do()
    asked = pairs.invite(course, third, "kim")
    with pytest.raises(Refused):
        pairs.accept(course, kim, asked.pk)
    assert PairMember.objects.count() == 2


@pytest.mark.parametrize("written", ["", "nobody", "stranger", "kim", "LEE "])
def test_only_a_classmate_is_found_and_only_exactly(
    written: str, kim: User, lee: User, course: Course
) -> None:
    User.objects.create_user("stranger")
    with pytest.raises(Refused):
        pairs.invite(course, kim, written)


def test_a_partner_who_left_is_none(pair: Pair, kim: User, lee: User, course: Course, answer: Answer) -> None:
    Enrolment.objects.filter(user=lee).update(left_at=timezone.now())
    assert partnership_of(kim, course) is None
    assert answer(kim).partner_until is None


def test_whose_partner_left_finds_another(pair: Pair, kim: User, lee: User, course: Course) -> None:
    Enrolment.objects.filter(user=lee).update(left_at=timezone.now())
    third = User.objects.create_user("park")
    Enrolment.objects.create(user=third, course=course)
    pairs.accept(course, kim, pairs.invite(course, third, "kim").pk)
    together = partnership_of(kim, course)
    assert together is not None and together.partner == third
    pair.refresh_from_db()
    assert pair.ended_at is not None


def test_practice_and_other_courses_are_ones_own(pair: Pair, kim: User, duo: DuoStep, course: Course) -> None:
    assert sheet_for(kim, course, duo, practice=True).pair is None
    other = Course.objects.create(slug="other", title="Other")
    assert sheet_for(kim, other, duo).pair is None


def test_the_endpoint_is_free_again(
    pair: Pair, kim: User, lee: User, answer: Answer, endpoint: Endpoint
) -> None:
    answer(kim), answer(lee)
    finish(claim(), drive())
    assert endpoint.lease.__class__.objects.get().holder == ""
