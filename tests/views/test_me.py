"""A person's own page: notices, what counts and why, what is due, what changed, who looked; and nothing held back."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from labs.actions import view_as
from labs.actions.override import clear_override, override
from labs.actions.regrade.apply import apply
from labs.actions.regrade.build import build, start
from labs.actions.rules import Given, extend, release_scores, set_rule
from labs.models import (
    Attempt,
    BoardName,
    Course,
    Enrolment,
    Grade,
    GradeEvent,
    Notice,
    Reason,
    State,
    StepRule,
)
from labs.steps import all_steps
from tests.views.rows import STEP, attempt_in

ME = "/me/"


def page_of(client: Client) -> str:
    answer = client.get(ME)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def hold(course: Course, *, holds: bool = True) -> StepRule:
    return StepRule.objects.create(course=course, step=STEP, zone=course.zone, holds_scores=holds)


def regrade(course: Course, by: User, points: int) -> None:
    """The automatic grade said `points` before; the present rules say what they say."""
    event = GradeEvent.objects.get(kind="auto")
    GradeEvent.objects.filter(pk=event.pk).update(points=points, evidence_hash="other")
    found = start(course, all_steps()[STEP], by, "the limit was too strict", {})
    assert build(found) and apply(found, by)


def test_only_for_who_is_logged_in_and_only_their_own(
    client: Client, attempt: Attempt, at_owner: Client, at_outsider: Client
) -> None:
    assert client.get(ME).status_code == client.post("/me/read").status_code == 302
    assert client.get("/me/data.zip").status_code == 302
    assert str(attempt.pk) in page_of(at_owner)
    assert str(attempt.pk) not in page_of(at_outsider) and "Voice lab" not in page_of(at_outsider)


def test_what_counts_and_why(attempt: Attempt, member: User, at_owner: Client) -> None:
    page = page_of(at_owner)
    event = GradeEvent.objects.get()
    assert f"{event.points}/{all_steps()[STEP].points}</td>" in page
    assert 'class="verdict verdict-pass"' in page and reverse("attempt", args=[attempt.pk]) in page
    override(attempt, all_steps()[STEP], member, 3, "spoke at the board")
    page = page_of(at_owner)
    assert "An instructor gave the points: 3." in page and "spoke at the board" in page
    assert f"Grading alone: {event.points}." in page


def test_what_is_due_what_it_costs_and_what_is_left(
    course: Course, owner: User, member: User, attempt: Attempt, at_owner: Client
) -> None:
    now = timezone.now()
    rule = StepRule(course=course, step=STEP, zone=course.zone, by=member, due_at=now - timedelta(hours=30))
    rule.late, rule.late_percent_a_day = "reduced", 10
    set_rule(rule)
    page = page_of(at_owner)
    assert "loses 20%" in page and 'KST</time> <span class="hint" data-yours hidden></span>' in page
    assert re.search(r'<td class="num">9</td>', page), "of ten"
    extend(course, owner, None, Given(days=3, extra_attempts=2), "was ill", member)
    page = page_of(at_owner)
    assert "loses" not in page and re.search(r'<td class="num">11</td>', page)
    assert "You have more time. You have 2 extra attempts. <bdi>was ill</bdi>" in page


def test_a_fault_of_the_server_makes_nobody_late(course: Course, owner: User, at_owner: Client) -> None:
    """As the step's own page has it."""
    now = timezone.now()
    StepRule.objects.create(course=course, step=STEP, zone=course.zone, due_at=now - timedelta(minutes=5))
    assert "is not taken" in page_of(at_owner)
    Attempt.objects.create(
        course=course,
        user=owner,
        step=STEP,
        step_version=1,
        seed_number=0,
        state=State.ERRORED,
        charged=False,
        submitted_at=now - timedelta(hours=1),
        finished_at=now,
        changed_at=now,
    )
    page = page_of(at_owner)
    assert "is not taken" not in page
    assert (
        'class="due due-on_time"' in at_owner.get(reverse("step", args=[course.slug, STEP])).content.decode()
    )


def test_after_a_regrade_it_says_what_changed_and_why(
    course: Course, owner: User, member: User, attempt: Attempt, at_owner: Client
) -> None:
    regrade(course, member, 1)
    after = Grade.objects.get().event.points
    assert after != 1
    notice = Notice.objects.get()
    assert (notice.kind, notice.user, notice.by, notice.attempt) == ("regraded", owner, member, attempt)
    page = page_of(at_owner)
    assert f"Graded again by changed rules: 1 → {after}." in page
    assert f'<span class="num">1 → {after}</span>' in page and "the limit was too strict" in page
    assert f"{reverse('attempt', args=[attempt.pk])}#history" in page


def test_a_regrade_that_changes_nothing_is_no_news(course: Course, member: User, attempt: Attempt) -> None:
    regrade(course, member, GradeEvent.objects.get().points)
    assert not Notice.objects.exists()


@pytest.mark.parametrize("verdict", ["pass", "fail"])
def test_nothing_held_back_is_on_it(
    verdict: str, course: Course, owner: User, member: User, at_owner: Client
) -> None:
    """Whatever was earned, given or changed, the page is the same."""
    hold(course)
    attempt = attempt_in(State.GRADED, owner, course, kind=verdict)
    regrade(course, member, 1)
    override(attempt, all_steps()[STEP], member, 2, "for the talk")
    page = page_of(at_owner)
    for secret in (
        "verdict-pass",
        "verdict-fail",
        "for the talk",
        "regrade",
        "→",
        "too strict",
        str(attempt.pk),
    ):
        assert secret not in page
    assert not Notice.objects.exists(), "of what nobody may know there is no news"
    assert "held back" in page
    release_scores(course, all_steps()[STEP], member)
    page = page_of(at_owner)
    assert "Points and verdicts are released." in page and "for the talk" in page


def test_held_back_again_the_old_news_say_no_points(
    course: Course, owner: User, member: User, attempt: Attempt, at_owner: Client
) -> None:
    regrade(course, member, 1)
    override(attempt, all_steps()[STEP], member, 11, "for the talk")
    assert "→" in page_of(at_owner) and "by hand: 11." in page_of(at_owner)
    hold(course)
    page = page_of(at_owner)
    assert (
        "→" not in page and "for the talk" not in page and "too strict" not in page and "by hand" not in page
    )
    assert "Graded again by changed rules." in page


def test_every_kind_is_said(
    course: Course, owner: User, member: User, attempt: Attempt, at_owner: Client
) -> None:
    errored = attempt_in(
        State.ERRORED, owner, course, step_key="prefill", rounds=0, reason=Reason.ENDPOINT_DOWN
    )
    extend(course, owner, all_steps()[STEP], Given(extra_attempts=1), "the server was down", member)
    override(attempt, all_steps()[STEP], member, 5, "spoke")
    clear_override(attempt, all_steps()[STEP], member, "a mistake")
    view_as.begin(course, owner.pk, member)
    for kind, about, details in [
        ("verdict", attempt, {}),
        ("returned", attempt, {"reason": "worker_lost"}),
        ("trouble", errored, {"reason": "endpoint_down"}),
        ("released", None, {}),
        ("regraded", attempt, {"before": 4, "after": 4, "regrade": 99}),
    ]:
        Notice.objects.create(user=owner, course=course, kind=kind, step=STEP, attempt=about, details=details)
    assert {notice.kind for notice in Notice.objects.all()} == set(Notice.Kind.values)
    page = page_of(at_owner)
    for sentence in [
        "It has been graded.",
        "The worker that drove your run went away. Your run is back at the head of the queue. No attempt was used.",
        "The model server could not be reached.",
        "Points and verdicts are released.",
        "An attempt was graded again by changed rules. What counts stays 4.",
        "member: 1 extra attempts <bdi>the server was down</bdi>",
        "member gave the points by hand: 5.",
        "member took back the points given by hand.",
        "member looked at your pages in this course as you see them.",
    ]:
        assert sentence in page, sentence


def test_the_count_in_the_head_until_they_are_read(
    course: Course, owner: User, member: User, at_owner: Client, at_member: Client
) -> None:
    for _ in range(2):
        view_as.begin(course, owner.pk, member)
    home = at_owner.get("/").content.decode()
    assert "2 new notices" in home and "new notice" not in at_member.get("/").content.decode()
    newest = re.search(r'name="newest" value="(\d+)"', page_of(at_owner))
    assert newest is not None
    view_as.begin(course, owner.pk, member)
    for wrong in ("", "x", "9" * 30):
        at_owner.post("/me/read", {"newest": wrong})
    at_member.post("/me/read", {"newest": "999999"})
    assert Notice.objects.filter(read_at=None).count() == 3
    assert at_owner.post("/me/read", {"newest": newest[1]}).url == ME
    assert "1 new notice" in at_owner.get("/").content.decode(), "what came since stays new"
    assert at_owner.get("/me/read").status_code == 405


def test_names_on_boards_and_who_looked(course: Course, owner: User, member: User, at_owner: Client) -> None:
    assert "a code name." in page_of(at_owner)
    BoardName.objects.create(course=course, user=owner, name="Whale")
    assert "you are “Whale”" in page_of(at_owner)
    BoardName.objects.update(is_hidden=True)
    assert "You are not shown on the boards." in page_of(at_owner)
    assert "Nobody." in page_of(at_owner)
    view_as.begin(course, owner.pk, member)
    assert "<bdi>member</bdi> · <bdi>Voice lab</bdi>" in page_of(at_owner)


def test_looked_at_it_is_that_course_alone(
    course: Course, owner: User, member: User, at_owner: Client, at_member: Client
) -> None:
    other = Course.objects.create(slug="elsewhere", title="Elsewhere")
    Enrolment.objects.create(user=owner, course=other)
    Notice.objects.create(user=owner, course=other, kind="released", step=STEP)
    at_member.post(reverse("view-as", args=[course.slug]), {"user": owner.pk})
    page = page_of(at_member)
    assert "Elsewhere" not in page and "1 new notice" in page and "looked at your pages" in page
    assert "Elsewhere" in page_of(at_owner)
    assert at_member.get("/me/data.zip").status_code == 404, "the download is the person's own"


def test_questions_do_not_grow(
    course: Course,
    owner: User,
    member: User,
    attempt: Attempt,
    at_owner: Client,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    regrade(course, member, 1)
    view_as.begin(course, owner.pk, member)
    extend(course, owner, None, Given(extra_attempts=1), "ill", member)
    with django_assert_max_num_queries(30) as few:
        at_owner.get(ME)
    for number in range(4):
        other = Course.objects.create(slug=f"c{number}", title=f"C {number}")
        Enrolment.objects.create(user=owner, course=other)
        attempt_in(State.GRADED, owner, other, step_key="prefill")
        Notice.objects.create(user=owner, course=other, kind="released", step=STEP, by=member)
        extend(other, owner, None, Given(extra_attempts=1), "ill", member)
    with django_assert_max_num_queries(len(few)) as many:
        at_owner.get(ME)
    assert len(many) == len(few) == 20


def test_dates_of_the_end(course: Course, at_owner: Client) -> None:
    Course.objects.update(ends_at=datetime(2099, 1, 1, tzinfo=UTC), erase_after_days=30)
    page = page_of(at_owner)
    assert "The course ends:" in page and "2099-01-31 09:00 KST" in page
    Course.objects.update(ends_at=timezone.now())
    assert "Nothing is taken any more; what you did can still be read." in page_of(at_owner)
