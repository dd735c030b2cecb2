"""An instructor sees a student's pages as the student does: those pages exactly, nothing else, and only to look."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from labs.actions.sweep import sweep_once
from labs.models import (
    Attempt,
    AuditRow,
    BoardName,
    Course,
    Enrolment,
    Notice,
    Role,
    State,
    StepRule,
    Viewing,
)
from labs.templatetags.lab import when
from labs.viewing import SESSION_KEY
from labs.views.view_as import OWN_WAYS, SEEN
from tests.views.conftest import client_of
from tests.views.routes import ALL, address
from tests.views.rows import STEP, attempt_in


def begin(client: Client, course: Course, whom: User) -> int:
    return client.post(reverse("view-as", args=[course.slug]), {"user": whom.pk}).status_code


def plain(page: bytes) -> str:
    """But for the banner, for what is random and for the clock."""
    text = re.sub(r'<div class="viewing".*?</form></div>', "", page.decode(), flags=re.DOTALL)
    text = re.sub(r'name="(csrfmiddlewaretoken|submit_key)" value="[^"]*"|data-now="[^"]*"', "", text)
    return re.sub(r"\n\s*\n", "\n", text)


def told() -> list[tuple[str, str, str, str | None]]:
    return [
        (row.verb, row.by_login, row.whom_login, row.as_user and row.as_user.username)
        for row in AuditRow.objects.select_related("as_user").order_by("pk")
    ]


@pytest.fixture
def pages(course: Course, attempt: Attempt) -> list[str]:
    one = [attempt.pk]
    return [
        reverse("home"),
        reverse("me"),
        reverse("step", args=[course.slug, STEP]),
        reverse("attempt", args=one),
        reverse("attempt-panel", args=one) + "?on=step",
        reverse("attempt-events", args=one),
        reverse("board", args=[course.slug, "voice"]),
        reverse("board-fragment", args=[course.slug, "voice"]),
    ]


@pytest.mark.parametrize("holds_scores", [False, True])
def test_it_is_exactly_what_the_student_sees(
    holds_scores: bool,
    course: Course,
    owner: User,
    at_owner: Client,
    at_member: Client,
    pages: list[str],
) -> None:
    StepRule.objects.create(course=course, step=STEP, zone=course.zone, holds_scores=holds_scores)
    begin(at_member, course, owner)
    for where in pages:
        seen, own = at_member.get(where), at_owner.get(where)
        assert seen.status_code == own.status_code == 200
        assert plain(seen.content) == plain(own.content), where


def test_a_banner_says_who_and_until_when_and_leads_out(
    course: Course, owner: User, at_member: Client, pages: list[str]
) -> None:
    User.objects.filter(pk=owner.pk).update(first_name="민준", last_name="김")
    assert begin(at_member, course, owner) == 302
    until = Viewing.objects.get().until
    assert timedelta(minutes=29) < until - timezone.now() <= timedelta(minutes=30)
    whole = [
        page for page in pages if "panel" not in page and "events" not in page and "fragment" not in page
    ]
    for where in [*whole, "/no/such/page", reverse("gradebook", args=[course.slug])]:
        page = at_member.get(where).content.decode()
        assert "You see the pages of <bdi>김민준</bdi>" in page, where
        assert f"until {when(until, course.zone)}. Nothing can be changed" in page
        assert f'action="{reverse("view-as-end")}"' in page
    assert at_member.post(reverse("view-as-end")).url == reverse("people", args=[course.slug])
    page = at_member.get(reverse("home")).content.decode()
    assert "member</bdi>" in page and "You see the pages of" not in page
    assert at_member.get(reverse("gradebook", args=[course.slug])).status_code == 200
    assert at_member.post(reverse("view-as-end")).url == reverse("home"), "a second press changes nothing"


def test_nothing_can_be_sent_not_even_by_its_address(
    course: Course, owner: User, member: User, at_member: Client, address_parts: dict[str, object]
) -> None:
    begin(at_member, course, owner)
    before = AuditRow.objects.count()
    everything = {name: address(name, address_parts) for name in set(ALL) - OWN_WAYS}
    assert len(everything) > 30
    for name, where in everything.items():
        for send in (at_member.post, at_member.put, at_member.patch, at_member.delete):
            answer = send(where, {"name": "me", "user": member.pk})
            assert answer.status_code == 403, name
            assert "Looking changes nothing" in answer.content.decode()
    assert not BoardName.objects.exists() and Attempt.objects.count() == 1
    assert AuditRow.objects.count() == before and Viewing.objects.count() == 1


def test_only_the_students_own_pages_of_this_course_are_found(
    course: Course, owner: User, at_member: Client, attempt: Attempt
) -> None:
    """Not the instructor's pages, not the admin's, and not what the student has elsewhere."""
    elsewhere = Course.objects.create(slug="elsewhere", title="Elsewhere course")
    Enrolment.objects.create(user=owner, course=elsewhere)
    theirs = attempt_in(State.GRADED, owner, elsewhere)
    begin(at_member, course, owner)
    for where in [
        reverse("step", args=["elsewhere", STEP]),
        reverse("board", args=["elsewhere", "voice"]),
        reverse("attempt", args=[theirs.pk]),
        reverse("attempt-events", args=[theirs.pk]),
        reverse("attempt-panel", args=[theirs.pk]),
        reverse("people", args=[course.slug]),
        reverse("gradebook-csv", args=[course.slug]),
        reverse("audit"),
        reverse("join"),
        reverse("admin:index"),
    ]:
        assert at_member.get(where).status_code == 404, where
    assert "Elsewhere course" not in at_member.get(reverse("home")).content.decode()


def test_both_ends_are_in_the_audit_and_the_student_is_told(
    course: Course, owner: User, member: User, at_member: Client
) -> None:
    begin(at_member, course, owner)
    at_member.post(reverse("view-as-end"))
    assert told() == [
        ("view_began", "member", "owner", "owner"),
        ("view_ended", "member", "owner", "owner"),
    ]
    assert {row.address for row in AuditRow.objects.all()} == {"127.0.0.1"}
    notice = Notice.objects.get()
    assert (notice.kind, notice.user, notice.by) == ("viewed", owner, member)


def test_after_half_an_hour_it_is_over(course: Course, owner: User, at_member: Client) -> None:
    begin(at_member, course, owner)
    late = timezone.now() - timedelta(seconds=1)
    Viewing.objects.update(until=late)
    answer = at_member.post(reverse("board-name", args=[course.slug]), {"name": "me"})
    assert answer.status_code == 403 and "no longer look as a student" in answer.content.decode()
    assert not BoardName.objects.exists(), "what the student's page sent is not taken as the instructor's own"
    assert [row[0] for row in told()] == ["view_began", "view_ended"]
    assert Viewing.objects.get().ended_at == late
    page = at_member.get(reverse("home")).content.decode()
    assert "member</bdi>" in page and "You see the pages of" not in page


def test_the_next_page_after_it_says_so(course: Course, owner: User, at_member: Client) -> None:
    begin(at_member, course, owner)
    Viewing.objects.update(until=timezone.now())
    page = at_member.get(reverse("home")).content.decode()
    assert "These are your own pages again".lower() in page.lower() and "member</bdi>" in page


@pytest.mark.parametrize("lost", ["teacher left", "student left", "student inactive", "became staff", "off"])
def test_it_ends_with_every_right_it_rests_on(
    lost: str, course: Course, owner: User, member: User, at_member: Client
) -> None:
    begin(at_member, course, owner)
    now = timezone.now()
    match lost:
        case "teacher left":
            Enrolment.objects.filter(user=member).update(left_at=now)
        case "student left":
            Enrolment.objects.filter(user=owner).update(left_at=now)
        case "student inactive":
            User.objects.filter(pk=owner.pk).update(is_active=False)
        case "became staff":
            User.objects.filter(pk=owner.pk).update(is_staff=True)
        case _:
            at_member.post(reverse("logout"))
            at_member.force_login(member)
    page = at_member.get(reverse("home")).content.decode()
    assert "You see the pages of" not in page and "owner" not in page
    assert SESSION_KEY not in at_member.session
    assert [row[0] for row in told()] == ["view_began", "view_ended"]


def test_who_may_begin(
    course: Course, owner: User, member: User, outsider: User, at_owner: Client, at_outsider: Client
) -> None:
    other = Course.objects.get(slug="other")
    foreign = User.objects.create_user("foreign")
    Enrolment.objects.create(user=foreign, course=other, role=Role.INSTRUCTOR)
    staff = User.objects.create_user("staff", is_staff=True)
    root = User.objects.create_user("root", is_superuser=True)
    gone = User.objects.create_user("gone")
    for user in (staff, root, gone):
        Enrolment.objects.create(user=user, course=course)
    Enrolment.objects.filter(user=gone).update(left_at=timezone.now())
    colleague = User.objects.create_user("colleague")
    Enrolment.objects.create(user=colleague, course=course, role=Role.INSTRUCTOR)
    at_foreign, at_member = client_of(foreign), client_of(member)
    for client in (at_owner, at_outsider, at_foreign):
        assert begin(client, course, owner) == 404
    # A foreign teacher cannot reach the student through their own course either.
    assert begin(at_foreign, other, owner) == 404
    for nobody in (staff, root, gone, colleague, member, outsider):
        assert begin(at_member, course, nobody) == 404
    assert at_member.post(reverse("view-as", args=[course.slug]), {"user": "x"}).status_code == 404
    assert at_member.get(reverse("view-as", args=[course.slug])).status_code == 405
    assert Client().post(reverse("view-as", args=[course.slug]), {"user": owner.pk}).status_code == 302
    assert not Viewing.objects.exists() and not AuditRow.objects.exists()
    assert begin(client_of(staff), course, owner) == 302, "staff stand as instructors"


def test_a_stolen_number_in_another_session_shows_nothing(
    course: Course, owner: User, at_member: Client, at_outsider: Client
) -> None:
    begin(at_member, course, owner)
    session = at_outsider.session
    session[SESSION_KEY] = Viewing.objects.get().pk
    session.save()
    assert at_outsider.get(reverse("step", args=[course.slug, STEP])).status_code == 404


def test_reading_in_another_language_is_the_readers_own(
    course: Course, owner: User, at_member: Client
) -> None:
    begin(at_member, course, owner)
    at_member.post(reverse("set_language"), {"language": "ko", "next": "/"})
    assert '<html lang="ko">' in at_member.get(reverse("home")).content.decode()


def test_where_it_begins(course: Course, owner: User, at_member: Client, attempt: Attempt) -> None:
    attempt_in(State.OPEN, owner, course, step_key="read-sse", rounds=0)
    for name in ("people", "class-now", "gradebook"):
        page = at_member.get(reverse(name, args=[course.slug])).content.decode()
        assert re.search(rf'name="user" value="{owner.pk}"[^>]*>View as', page), name
    answer = at_member.post(reverse("view-as", args=[course.slug]) + f"?step={STEP}", {"user": owner.pk})
    assert answer.url == reverse("step", args=[course.slug, STEP])


def test_the_sweep_ends_what_nobody_came_back_to(course: Course, owner: User, at_member: Client) -> None:
    begin(at_member, course, owner)
    sweep_once()
    assert [row[0] for row in told()] == ["view_began"]
    Viewing.objects.update(until=timezone.now() - timedelta(minutes=1))
    sweep_once()
    sweep_once()
    assert [row[0] for row in told()] == ["view_began", "view_ended"]


def test_what_it_costs(
    course: Course,
    owner: User,
    at_owner: Client,
    at_member: Client,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    """One question more than the student's own page: whether it still holds."""
    begin(at_member, course, owner)
    with django_assert_max_num_queries(99) as own:
        at_owner.get(reverse("home"))
    with django_assert_max_num_queries(len(own) + 1):
        at_member.get(reverse("home"))


def test_looking_writes_nothing(
    course: Course, owner: User, at_member: Client, address_parts: dict[str, object]
) -> None:
    """Not one of the pages that may be seen changes a row, whatever its method is called."""
    begin(at_member, course, owner)
    with CaptureQueriesContext(connection) as asked:
        for name in SEEN - {"healthz", "readyz"}:
            at_member.get(address(name, address_parts))
    said = [query["sql"].split(maxsplit=1)[0] for query in asked.captured_queries]
    assert len(said) > 50 and set(said) <= {"SELECT"}


@pytest.mark.parametrize("page", ["attempt", "attempt-panel"])
def test_news_is_read_by_its_owner_and_by_nobody_else(
    page: str, course: Course, owner: User, attempt: Attempt, at_owner: Client, at_member: Client
) -> None:
    """Who has the attempt before them has read that it was graded. A release is not of the attempt, and stays new."""
    for kind in (Notice.Kind.VERDICT, Notice.Kind.RELEASED):
        about = attempt if kind is Notice.Kind.VERDICT else None
        Notice.objects.create(user=owner, course=course, kind=kind, step=STEP, attempt=about)
    new = Notice.objects.filter(user=owner, read_at=None, kind__in=["verdict", "released"])
    where = reverse(page, args=[attempt.pk])
    assert at_member.get(where).status_code == 200
    assert begin(at_member, course, owner) == 302
    assert at_member.get(where).status_code == 200
    assert new.count() == 2
    assert at_owner.get(where).status_code == 200
    assert [notice.kind for notice in new] == ["released"]
