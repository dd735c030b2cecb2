"""The rules of a step in the engine: the window, the cost, extensions, extra attempts, and which attempt counts."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from labs.actions.cancel import cancel
from labs.actions.errors import Refused
from labs.actions.finish import finish
from labs.actions.override import clear_override, override
from labs.actions.regrade.apply import apply
from labs.actions.regrade.build import build, start
from labs.actions.regrade.report import effects_of
from labs.actions.rules import Given, extend, release_scores, set_rule
from labs.actions.submit import submit
from labs.grading.checks import Check, Verdict
from labs.models import Attempt, Course, Endpoint, Enrolment, Extension, Grade, Role, State, StepRule
from labs.rules.clock import instant
from labs.rules.window import Late, Standing, Window
from labs.steps.base import Seen
from labs.terms import counted_points, rules_in_force, terms_for, total, worth_of
from tests.actions.conftest import Submit
from tests.actions.rows import claim, fresh
from tests.actions.toy import ToyRound, ToyStep, drive

pytestmark = pytest.mark.usefixtures("endpoint")

ZONE = "America/New_York"
# The night in which New York's clocks go back.
DUE = instant(datetime(2026, 10, 31, 23, 59), ZONE)
DAY = timedelta(days=1)

At = Callable[[datetime], None]
Rule = Callable[..., StepRule]
Ran = Callable[..., Attempt]


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> At:
    """Our server's clock."""

    def set_clock(now: datetime) -> None:
        monkeypatch.setattr(timezone, "now", lambda: now)

    return set_clock


@pytest.fixture
def teacher(course: Course) -> User:
    user = User.objects.create_user("teacher")
    Enrolment.objects.create(user=user, course=course, role=Role.INSTRUCTOR)
    return user


@pytest.fixture
def rule(course: Course, toy_step: ToyStep, teacher: User) -> Rule:
    def do(**fields: object) -> StepRule:
        given = {"zone": ZONE, "due_at": DUE, **fields}
        return set_rule(StepRule(course=course, step=toy_step.key, by=teacher, **given))

    return do


@pytest.fixture
def run(course: Course, toy_step: ToyStep) -> Ran:
    """Both rounds, graded; the first is worth 5 and so is the second."""

    def do(user: User, *texts: str, percent: int = 0) -> Attempt:
        for key, text in zip(("one", "two"), texts, strict=True):
            attempt = submit(user, course, toy_step, key, {"say": "hello"}, uuid.uuid4(), percent)
            finish(claim(), drive(text=text))
        return fresh(attempt)

    return do


def counts(user: User, course: Course, step: ToyStep) -> str:
    grade = Grade.objects.select_related("event__attempt").get(user=user)
    worth = worth_of(step, rules_in_force([course]).get((course.pk, step.key)))
    return str(counted_points(grade.event, grade.event.attempt, step, worth))


def test_before_it_opens_nothing_is_taken(kim: User, post: Submit, rule: Rule, at: At) -> None:
    rule(opens_at=DUE - 7 * DAY)
    at(DUE - 7 * DAY - timedelta(seconds=1))
    with pytest.raises(Refused) as refused:
        post(kim)
    assert str(refused.value) == "This step opens at 2026-10-24 23:59 EDT. Nothing was sent."
    assert not Attempt.objects.exists()
    at(DUE - 7 * DAY)
    assert post(kim).state == State.QUEUED


def test_235958_is_on_time_whenever_it_is_graded(
    kim: User, post: Submit, rule: Rule, at: At, course: Course, toy_step: ToyStep
) -> None:
    rule(late=Late.REDUCED, late_percent_a_day=10)
    at(DUE + timedelta(seconds=58))
    attempt = post(kim)
    at(DUE + timedelta(minutes=21))
    finish(claim(), drive())
    post(kim, "two")
    finish(claim(), drive())
    attempt = fresh(attempt)
    assert (attempt.state, attempt.late_percent) == (State.GRADED, 0)
    assert attempt.submitted_at == DUE + timedelta(seconds=58)
    assert counts(kim, course, toy_step) == "10"


def test_after_the_end_nothing_is_taken_but_what_was_begun_goes_on(
    kim: User, lee: User, post: Submit, rule: Rule, at: At
) -> None:
    rule()
    at(DUE)
    attempt = post(lee)
    finish(claim(), drive())
    at(DUE + timedelta(minutes=1))
    with pytest.raises(Refused) as refused:
        post(kim)
    assert "closed at 2026-10-31 23:59 EDT, that minute included" in str(refused.value)
    assert post(lee, "two").pk == attempt.pk


def test_the_same_post_again_is_no_new_one_after_the_end(kim: User, post: Submit, rule: Rule, at: At) -> None:
    key = uuid.uuid4()
    rule()
    at(DUE)
    attempt = post(kim, key=key)
    at(DUE + DAY)
    assert post(kim, key=key).pk == attempt.pk


def test_nobody_runs_late_unawares(kim: User, post: Submit, run: Ran, rule: Rule, at: At) -> None:
    """The page said that it costs nothing; meanwhile it does."""
    rule(late=Late.REDUCED, late_percent_a_day=10)
    at(DUE + timedelta(minutes=1))
    with pytest.raises(Refused, match="would lose 10 percent"):
        post(kim)
    assert not Attempt.objects.exists()
    attempt = run(kim, "right", "right", percent=10)
    assert attempt.late_percent == 10
    at(DUE + 2 * DAY)
    with pytest.raises(Refused, match="would lose 20 percent"):
        run(kim, "right", "right", percent=10)


@pytest.mark.parametrize(("late", "on_time", "best"), [("right", "wrong", "8"), ("wrong", "right", "10")])
def test_the_best_counts_after_its_lateness(
    kim: User,
    run: Ran,
    rule: Rule,
    at: At,
    course: Course,
    toy_step: ToyStep,
    late: str,
    on_time: str,
    best: str,
) -> None:
    """A late try replaces an on-time one only where it counts for more."""
    rule(late=Late.REDUCED, late_percent_a_day=20)
    at(DUE)
    first = run(kim, "right", on_time)
    at(DUE + DAY)
    second = run(kim, "right", late, percent=20)
    assert (first.late_percent, second.late_percent) == (0, 20)
    assert counts(kim, course, toy_step) == best


def test_a_regrade_keeps_the_penalty_and_never_makes_late(
    kim: User,
    lee: User,
    teacher: User,
    run: Ran,
    rule: Rule,
    at: At,
    course: Course,
    toy_step: ToyStep,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rule(late=Late.REDUCED, late_percent_a_day=20)
    at(DUE)
    run(kim, "right", "wrong")
    at(DUE + DAY)
    run(kim, "right", "wrong", percent=20)
    run(lee, "right", "wrong", percent=20)
    assert (counts(kim, course, toy_step), counts(lee, course, toy_step)) == ("5", "4")
    at(DUE + 9 * DAY)
    before = ToyRound.grade

    def milder(self: ToyRound, seen: Seen) -> Iterator[Check]:
        for check in before(self, seen):
            yield dataclasses.replace(check, verdict=Verdict.PASS)

    monkeypatch.setattr(ToyRound, "grade", milder)
    regrade = start(course, toy_step, teacher, "milder", {})
    assert build(regrade)
    told = {effect.username: (str(effect.before), str(effect.after)) for effect in effects_of(regrade)}
    assert told == {"kim": ("5", "10"), "lee": ("4", "8")}
    assert apply(regrade, teacher)
    assert (counts(kim, course, toy_step), counts(lee, course, toy_step)) == ("10", "8")


def test_an_override_is_not_reduced(
    kim: User,
    teacher: User,
    run: Ran,
    rule: Rule,
    at: At,
    course: Course,
    toy_step: ToyStep,
) -> None:
    rule(late=Late.REDUCED, late_percent_a_day=20)
    at(DUE + timedelta(minutes=1))
    attempt = run(kim, "right", "wrong", percent=20)
    override(attempt, toy_step, teacher, 9, "shown in class")
    assert counts(kim, course, toy_step) == "9"
    clear_override(attempt, toy_step, teacher, "enough")
    assert counts(kim, course, toy_step) == "4"


def test_seven_more_days_over_the_clock_change(
    kim: User, lee: User, teacher: User, post: Submit, rule: Rule, at: At, course: Course, toy_step: ToyStep
) -> None:
    """Due Wednesday 18:00 in New York, seven days more: Wednesday 18:00 there, which is 23:00Z by then."""
    due_at = instant(datetime(2026, 10, 28, 18, 0), ZONE)
    rule(due_at=due_at)
    extend(course, kim, toy_step, Given(days=7), "was ill", teacher)
    window = terms_for(kim, course, toy_step).window
    assert window.due_at == datetime(2026, 11, 4, 23, 0, tzinfo=UTC)
    at(window.due_at + timedelta(seconds=59))
    assert post(kim).state == State.QUEUED
    cancel(Attempt.objects.get())
    with pytest.raises(Refused, match="closed at 2026-10-28 18:00 EDT"):
        post(lee)
    at(window.due_at + timedelta(seconds=60))
    with pytest.raises(Refused, match="closed at 2026-11-04 18:00 EST"):
        post(kim)


def test_an_extension_given_afterwards_takes_the_penalty_off(
    kim: User,
    teacher: User,
    run: Ran,
    rule: Rule,
    at: At,
    course: Course,
    toy_step: ToyStep,
) -> None:
    rule(late=Late.REDUCED, late_percent_a_day=30)
    at(DUE)
    first = run(kim, "right", "wrong")
    at(DUE + DAY)
    second = run(kim, "right", "wrong", percent=30)
    third = run(kim, "right", "right", percent=30)
    assert counts(kim, course, toy_step) == "7"
    extend(course, kim, None, Given(days=2), "was ill", teacher)
    assert [fresh(one).late_percent for one in (first, second, third)] == [0, 0, 0]
    assert counts(kim, course, toy_step) == "10"
    rule(late=Late.REDUCED, late_percent_a_day=50, due_at=DUE - 9 * DAY)
    assert fresh(third).late_percent == 0, "a rule made sterner afterwards costs nobody"


def test_a_later_due_time_for_all_takes_penalties_off_and_repoints(
    kim: User, run: Ran, rule: Rule, at: At, course: Course, toy_step: ToyStep
) -> None:
    rule(late=Late.REDUCED, late_percent_a_day=60)
    at(DUE)
    run(kim, "right", "wrong")
    at(DUE + DAY)
    second = run(kim, "right", "right", percent=60)
    assert counts(kim, course, toy_step) == "5"
    rule(late=Late.REDUCED, late_percent_a_day=60, due_at=DUE + 2 * DAY)
    assert Grade.objects.select_related("event").get().event.attempt_id == second.pk
    assert counts(kim, course, toy_step) == "10"


def test_who_forgives_more_at_the_same_moment_is_not_undone(
    kim: User, run: Ran, rule: Rule, at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule(late=Late.REDUCED, late_percent_a_day=60)
    at(DUE + DAY)
    late = run(kim, "right", "right", percent=60)
    standing = Window.standing

    def while_another_forgives_all(self: Window, moment: datetime) -> Standing:
        Attempt.objects.filter(pk=late.pk).update(late_percent=0)
        return standing(self, moment)

    monkeypatch.setattr(Window, "standing", while_another_forgives_all)
    rule(late=Late.REDUCED, late_percent_a_day=30)
    assert fresh(late).late_percent == 0


def test_a_sum_is_written_as_short_as_its_parts() -> None:
    assert [
        str(total(map(Decimal, parts))) for parts in (("13.5", "0.5"), ("0.25", "0.5"), ("10", "20"))
    ] == [
        "14",
        "0.75",
        "30",
    ]


def test_the_newest_extension_counts_and_all_stay(
    kim: User, teacher: User, rule: Rule, course: Course, toy_step: ToyStep
) -> None:
    rule(attempts=2)

    def due_and_attempts() -> tuple[datetime | None, int]:
        terms = terms_for(kim, course, toy_step)
        return terms.window.due_at, terms.attempts

    assert due_and_attempts() == (DUE, 2)
    extend(course, kim, toy_step, Given(days=3), "ill", teacher)
    extend(course, kim, None, Given(extra_attempts=2), "the server was down", teacher)
    assert due_and_attempts() == (instant(datetime(2026, 11, 3, 23, 59), ZONE), 4)
    newest = extend(course, kim, toy_step, Given(due_at=DUE + 9 * DAY), "still ill", teacher)
    assert due_and_attempts() == (DUE + 9 * DAY, 4)
    assert newest in terms_for(kim, course, toy_step).extensions
    extend(course, kim, toy_step, Given(days=0, extra_attempts=0), "a mistake", teacher)
    assert due_and_attempts() == (DUE, 2)
    assert terms_for(kim, course, toy_step).extensions == []
    assert [row.why for row in Extension.objects.all()] == [
        "ill",
        "the server was down",
        "still ill",
        "a mistake",
    ]
    assert all(row.by == teacher and row.created_at for row in Extension.objects.all())


def test_extra_attempts_are_for_one_student(
    kim: User,
    lee: User,
    teacher: User,
    run: Ran,
    rule: Rule,
    at: At,
    course: Course,
    toy_step: ToyStep,
) -> None:
    rule(attempts=1)
    at(DUE)
    for user in (kim, lee):
        run(user, "right", "wrong")
        with pytest.raises(Refused, match="no attempts left"):
            run(user, "right", "wrong")
    extend(course, kim, toy_step, Given(extra_attempts=1), "the projector failed", teacher)
    run(kim, "right", "right")
    for user in (kim, lee):
        with pytest.raises(Refused, match="no attempts left"):
            run(user, "right", "right")


@pytest.mark.parametrize(
    ("given", "why", "said"),
    [
        (Given(days=3), "  ", "Write why"),
        (Given(), "ill", "Give days, a due time or attempts"),
        (Given(days=1, due_at=DUE), "ill", "not both"),
    ],
)
def test_an_extension_needs_a_reason_and_something_given(
    kim: User,
    teacher: User,
    rule: Rule,
    course: Course,
    toy_step: ToyStep,
    given: Given,
    why: str,
    said: str,
) -> None:
    rule()
    with pytest.raises(Refused, match=said):
        extend(course, kim, toy_step, given, why, teacher)
    assert not Extension.objects.exists()


def test_days_into_the_skipped_hour_are_refused(
    kim: User, teacher: User, rule: Rule, course: Course, toy_step: ToyStep
) -> None:
    rule(due_at=instant(datetime(2026, 3, 1, 2, 30), ZONE))
    for step in (toy_step, None):
        with pytest.raises(Refused, match="2026-03-08 02:30 does not exist in America/New_York"):
            extend(course, kim, step, Given(days=7), "ill", teacher)


def test_only_a_student_of_the_course_is_given_more(
    teacher: User, rule: Rule, course: Course, toy_step: ToyStep
) -> None:
    rule()
    stranger = User.objects.create_user("stranger")
    for user in (stranger, teacher):
        with pytest.raises(Refused, match="not a student"):
            extend(course, user, toy_step, Given(days=1), "ill", teacher)


def test_who_teaches_is_bound_by_no_time(teacher: User, post: Submit, rule: Rule, at: At) -> None:
    rule(opens_at=DUE + DAY, due_at=DUE + 2 * DAY)
    at(DUE)
    assert post(teacher).late_percent == 0


def test_scores_are_released_once(
    kim: User, teacher: User, rule: Rule, course: Course, toy_step: ToyStep
) -> None:
    rule(holds_scores=True, points=20, release_at=DUE)
    terms = terms_for(kim, course, toy_step)
    assert (terms.hides_scores(DUE - timedelta(seconds=1)), terms.hides_scores(DUE)) == (True, False)
    assert not terms_for(teacher, course, toy_step).holds_scores
    rule(holds_scores=True, points=20)
    assert terms_for(kim, course, toy_step).hides_scores(DUE + 1000 * DAY)
    assert release_scores(course, toy_step, teacher)
    assert not release_scores(course, toy_step, teacher)
    terms = terms_for(kim, course, toy_step)
    assert (terms.hides_scores(DUE), terms.worth, terms.window.due_at) == (False, 20, DUE)
    assert StepRule.objects.count() == 3


def test_the_courses_scale(
    kim: User, run: Ran, rule: Rule, at: At, course: Course, toy_step: ToyStep
) -> None:
    rule(points=25, late=Late.REDUCED, late_percent_a_day=10)
    at(DUE + DAY)
    run(kim, "right", "wrong", percent=10)
    assert counts(kim, course, toy_step) == "11.25"


def test_a_fault_of_the_server_makes_nobody_late(
    kim: User, post: Submit, rule: Rule, at: At, endpoint: Endpoint
) -> None:
    """Submitted on time, ended by the server after the end: for a day it may be repeated as if submitted then."""
    rule()
    at(DUE)
    first = post(kim)
    finish(claim(), drive("errored", reason="rejected_by_server"))
    assert (fresh(first).state, fresh(first).charged) == (State.ERRORED, False)
    Attempt.objects.update(finished_at=DUE + timedelta(minutes=5))
    at(DUE + DAY + timedelta(minutes=6))
    with pytest.raises(Refused, match="closed at"):
        post(kim)
    at(DUE + DAY + timedelta(minutes=4))
    again = post(kim)
    assert (again.submitted_at, again.late_percent, again.seed_number) == (DUE, 0, first.seed_number)


@pytest.mark.parametrize("token_seen", [True, False])
def test_a_stop_is_no_fault(kim: User, post: Submit, rule: Rule, at: At, token_seen: bool) -> None:
    rule()
    at(DUE)
    post(kim)
    finish(claim(), drive("cancelled", token_seen=token_seen))
    at(DUE + timedelta(hours=1))
    with pytest.raises(Refused, match="closed at"):
        post(kim)


def test_many_late_attempts_are_judged_anew_in_few_queries(
    rule: Rule, course: Course, toy_step: ToyStep, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    rule(late=Late.REDUCED, late_percent_a_day=10)
    for number in range(30):
        Attempt.objects.create(
            course=course,
            user=User.objects.create_user(f"s{number}"),
            step=toy_step.key,
            step_version=1,
            seed_number=0,
            state=State.GRADED,
            changed_at=DUE,
            submitted_at=DUE + timedelta(hours=1),
            late_percent=10,
        )
    with django_assert_max_num_queries(20):
        rule(late=Late.REDUCED, late_percent_a_day=10, due_at=DUE + DAY)
    assert not Attempt.objects.filter(late_percent__gt=0).exists()
