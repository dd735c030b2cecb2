"""The instructor's pages of rules and extensions; for nobody else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from labs.models import Attempt, Course, Enrolment, Extension, Role, State, StepRule
from labs.rules.clock import instant
from labs.steps import all_steps
from labs.terms import terms_for
from tests.views.pages import Page
from tests.views.rows import STEP, attempt_in

ZONE = "America/New_York"
FIELDS = {"late": "refused", "due_at": "2026-10-28T18:00"}


@pytest.fixture
def course(course: Course) -> Course:
    Course.objects.update(zone=ZONE)
    course.refresh_from_db()
    return course


def step_url(course: Course, name: str = "rule-step") -> str:
    return reverse(name, args=[course.slug, STEP])


def put(client: Client, course: Course, **fields: str) -> str:
    return client.post(step_url(course), FIELDS | fields, follow=True).content.decode()


def give(client: Client, course: Course, user: User, **fields: str) -> str:
    where = reverse("extensions", args=[course.slug])
    given = {"student": str(user.pk), "step": STEP, "why": "was ill", **fields}
    return client.post(where, given, follow=True).content.decode()


def test_only_the_courses_instructors_find_them(
    course: Course, owner: User, at_owner: Client, at_outsider: Client, at_member: Client, client: Client
) -> None:
    Enrolment.objects.filter(course__slug="other").update(role=Role.INSTRUCTOR)
    pages = [
        reverse("rules", args=[course.slug]),
        step_url(course),
        reverse("extensions", args=[course.slug]),
    ]
    posts = [*pages[1:], step_url(course, "scores-release")]
    for page in pages:
        assert at_member.get(page).status_code == 200
        assert client.get(page)["Location"].startswith(reverse("login"))
    for stranger in (at_owner, at_outsider):
        assert [stranger.get(page).status_code for page in pages] == [404] * 3
        assert [stranger.post(page, FIELDS).status_code for page in posts] == [404] * 3
    assert at_member.get(posts[-1]).status_code == 405, "releasing is no link"
    assert not StepRule.objects.exists() and not Extension.objects.exists()


def test_what_is_entered_is_kept_as_an_instant_and_a_zone_and_shown_again(
    course: Course, at_member: Client
) -> None:
    page = put(
        at_member,
        course,
        opens_at="2026-10-21T09:00",
        late="reduced",
        late_percent_a_day="10",
        late_floor_percent="40",
        ends_at="2026-11-11T18:00",
        attempts="3",
        points="20",
        holds_scores="on",
        release_at="2026-11-12T09:00",
    )
    rule = StepRule.objects.get()
    assert (rule.due_at, rule.zone) == (datetime(2026, 10, 28, 22, 0, tzinfo=UTC), ZONE)
    assert rule.ends_at == datetime(2026, 11, 11, 23, 0, tzinfo=UTC), "after the clocks went back"
    assert rule.by is not None and rule.by.username == "member"
    assert "2026-10-28 18:00 EDT" in page and "2026-11-11 18:00 EST" in page
    assert "minus 10% a day begun, 40% stay" in page
    form = Page(at_member.get(step_url(course)).content.decode())
    values = {name: form.having(name=name)[0].get("value") for name in ("due_at", "ends_at", "attempts")}
    assert values == {"due_at": "2026-10-28T18:00", "ends_at": "2026-11-11T18:00", "attempts": "3"}


def test_a_skipped_time_is_refused_and_a_doubled_one_takes_the_later(
    course: Course, at_member: Client
) -> None:
    page = put(at_member, course, due_at="2026-03-08T02:30")
    assert "2026-03-08 02:30 does not exist in America/New_York" in page
    assert 'value="2026-03-08T02:30"' in page, "what was typed is kept"
    assert not StepRule.objects.exists()
    put(at_member, course, due_at="2026-11-01T01:30")
    assert StepRule.objects.get().due_at == datetime(2026, 11, 1, 6, 30, tzinfo=UTC)
    put(at_member, course, due_at="2026-11-01T01:30")
    assert len(set(StepRule.objects.values_list("due_at", flat=True))) == 1, "saving it again moves nothing"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"due_at": "soon"}, "Write a date and a time"),
        ({"due_at": "0001-01-01T00:00"}, "Write a date and a time"),
        ({"due_at": "9999-12-31T23:59"}, "Write a date and a time"),
        ({"opens_at": "2026-10-29T00:00"}, "must not be due before it opens"),
        ({"due_at": "", "late": "reduced", "late_percent_a_day": "5"}, "Without a due time nothing is late"),
        ({"late": "accepted"}, "Say until when late work is taken"),
        ({"late": "accepted", "ends_at": "2026-10-27T00:00"}, "must not come before the due time"),
        ({"late": "reduced"}, "Say how much every day begun costs"),
        ({"late": "reduced", "late_percent_a_day": "101"}, "less than or equal to 100"),
        ({"late": "never"}, "not one of the available choices"),
        ({"attempts": "0"}, "greater than or equal to 1"),
    ],
)
def test_what_makes_no_sense_is_refused(
    fields: dict[str, str], said: str, course: Course, at_member: Client
) -> None:
    assert said in put(at_member, course, **fields)
    assert not StepRule.objects.exists()


def test_the_rows_before_stay_with_who_set_them(course: Course, at_member: Client) -> None:
    put(at_member, course)
    put(at_member, course, due_at="2026-11-04T18:00")
    page = at_member.get(step_url(course)).content.decode()
    assert "2026-10-28 18:00 EDT" in page and "2026-11-04 18:00 EST" in page
    assert page.count("member</bdi>") >= 2


def test_seven_days_more_for_one_student(
    course: Course, owner: User, at_member: Client, at_owner: Client
) -> None:
    put(at_member, course)
    page = give(at_member, course, owner, days="7")
    assert "2026-11-04 18:00 EST" in page and "was ill" in page and "member" in page
    row = Extension.objects.get()
    assert (row.days, row.step, row.extra_attempts, row.why) == (7, STEP, None, "was ill")
    window = terms_for(owner, course, all_steps()[STEP]).window
    assert window.due_at == instant(datetime(2026, 11, 4, 18, 0), ZONE)
    student = at_owner.get(reverse("step", args=[course.slug, STEP])).content.decode()
    assert "2026-11-04 18:00 EST" in student


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"days": "7", "why": ""}, "Write why"),
        ({}, "Give days, a due time or attempts"),
        ({"days": "7", "due_at": "2026-11-04T18:00"}, "Give days or a due time, not both"),
        ({"due_at": "2026-03-08T02:30"}, "does not exist"),
        ({"step": "no-such-step", "days": "7"}, "not one of the available choices"),
        ({"student": "0", "days": "7"}, "not one of the available choices"),
    ],
)
def test_an_extension_that_is_refused(
    fields: dict[str, str], said: str, course: Course, owner: User, at_member: Client
) -> None:
    put(at_member, course)
    assert said in give(at_member, course, owner, **fields)
    assert not Extension.objects.exists()


def test_nobody_of_another_course_can_be_chosen(
    course: Course, outsider: User, member: User, at_member: Client
) -> None:
    put(at_member, course)
    for user in (outsider, member):
        assert "not one of the available choices" in give(at_member, course, user, days="7")
    assert not Extension.objects.exists()


def test_release(course: Course, attempt: Attempt, at_member: Client, at_owner: Client) -> None:
    put(at_member, course, holds_scores="on")
    assert "Release points and verdicts now" in at_member.get(step_url(course)).content.decode()
    assert "data-verdict" not in at_owner.get(reverse("attempt", args=[attempt.pk])).content.decode()
    told = at_member.post(step_url(course, "scores-release"), follow=True).content.decode()
    assert "are released" in told
    assert "data-verdict" in at_owner.get(reverse("attempt", args=[attempt.pk])).content.decode()
    again = at_member.post(step_url(course, "scores-release"), follow=True).content.decode()
    assert "Nothing was held back here" in again


def test_no_markup_comes_from_a_reason(course: Course, owner: User, at_member: Client) -> None:
    put(at_member, course)
    page = give(at_member, course, owner, days="1", why="<script>alert(1)</script>")
    assert "&lt;script&gt;alert(1)" in page and "<script>alert" not in page
    assert Page(page).inline == []


@pytest.mark.parametrize("more", [1, 6])
def test_the_queries_do_not_grow(
    more: int,
    course: Course,
    member: User,
    at_member: Client,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    due_at = datetime(2026, 10, 28, 22, 0, tzinfo=UTC)
    for number in range(more):
        user = User.objects.create_user(f"s{number}")
        Enrolment.objects.create(user=user, course=course)
        Extension.objects.create(
            course=course, user=user, step=STEP, days=number, zone=ZONE, why="x", by=member
        )
        StepRule.objects.create(course=course, step=STEP, zone=ZONE, due_at=due_at, by=member)
    with django_assert_num_queries(
        7
    ):  # session, user, notices, course and right; students, extensions, rules
        at_member.get(reverse("extensions", args=[course.slug]))
    with django_assert_num_queries(5):
        at_member.get(reverse("rules", args=[course.slug]))


def test_a_later_due_time_takes_penalties_off(course: Course, owner: User, at_member: Client) -> None:
    put(at_member, course, late="reduced", late_percent_a_day="10")
    at = instant(datetime(2026, 10, 29, 12, 0), ZONE)
    attempt = attempt_in(State.GRADED, owner, course, submitted_at=at, late_percent=10)
    put(at_member, course, late="reduced", late_percent_a_day="10", due_at="2026-10-29T12:00")
    attempt.refresh_from_db()
    assert attempt.late_percent == 0
