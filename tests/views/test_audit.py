"""The audit: every change of a grade, of an endpoint or of somebody's part leaves a row that is found again."""

from __future__ import annotations

import asyncio

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import AsyncClient, Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries, Settings

from labs.actions.audit import Origin, coming_from, record
from labs.actions.roster.apply import apply
from labs.actions.roster.plan import plan
from labs.actions.rules import Given, extend, release_scores, set_rule
from labs.models import AuditRow, Course, Endpoint, Enrolment, Role, State, StepRule
from labs.models.audit import Verb
from labs.roster import read_roster
from labs.steps import all_steps
from tests.views.conftest import client_of
from tests.views.rows import STEP, attempt_in


@pytest.fixture
def admin(db: None) -> User:
    return User.objects.create_superuser("root", password="root-password")


@pytest.fixture
def at_admin(admin: User) -> Client:
    return client_of(admin)


def told() -> list[tuple[str, str, str, str, str | None]]:
    rows = AuditRow.objects.order_by("pk")
    return [(row.by_login, row.verb, row.whom_login, row.what, row.address) for row in rows]


def test_only_for_those_who_run_the_site(
    at_owner: Client, at_member: Client, at_outsider: Client, at_admin: Client, client: Client
) -> None:
    for nobody in (at_owner, at_member, at_outsider):
        assert nobody.get(reverse("audit")).status_code == 404
    assert client.get(reverse("audit")).status_code == 302
    assert at_admin.get(reverse("audit")).status_code == 200


def test_points_by_hand_and_their_end(course: Course, owner: User, at_member: Client) -> None:
    attempt = attempt_in(State.GRADED, owner, course)
    where = reverse("attempt-points", args=[attempt.pk])
    graded = attempt.grade_events.get().points
    at_member.post(where, {"points": "3", "comment": "spoke at the board"})
    at_member.post(where, {"clear": "1", "comment": "a mistake"})
    assert told() == [
        ("member", "points_given", "owner", STEP, "127.0.0.1"),
        ("member", "points_ended", "owner", STEP, "127.0.0.1"),
    ]
    first, second = AuditRow.objects.order_by("pk")
    assert (first.details["before"], first.details["points"]) == (graded, 3)
    assert (second.details["before"], second.details["points"]) == (3, graded)
    assert first.details["comment"] == "spoke at the board" and first.course == course


def test_rules_extensions_and_releases(course: Course, owner: User, member: User) -> None:
    step = all_steps()[STEP]
    set_rule(StepRule(course=course, step=STEP, zone="Asia/Seoul", holds_scores=True, by=member))
    release_scores(course, step, member)
    assert not release_scores(course, step, member)
    extend(course, owner, None, Given(extra_attempts=2), "the server was down", member)
    assert [row[:4] for row in told()] == [
        ("member", "rules_set", "", STEP),
        ("member", "released", "", STEP),
        ("member", "extended", "owner", ""),
    ]


def test_every_verb_is_said(at_admin: Client, member: User) -> None:
    for verb in Verb:
        record(verb, member)
    shown = [one.verb for one in at_admin.get(reverse("audit")).context["rows"]]
    assert len(set(shown)) == len(Verb) and not set(shown) & {str(verb) for verb in Verb if "_" in verb}


def test_a_refused_change_leaves_no_row(course: Course, owner: User, at_member: Client) -> None:
    attempt = attempt_in(State.GRADED, owner, course)
    at_member.post(reverse("attempt-points", args=[attempt.pk]), {"points": "999", "comment": "x"})
    assert told() == []


def test_a_roster_tells_of_each_person(course: Course, owner: User, member: User) -> None:
    gone = User.objects.create_user("gone")
    Enrolment.objects.create(user=gone, course=course, left_at="2026-01-01T00:00Z")
    stays = User.objects.create_user("stays", first_name="Old")
    Enrolment.objects.create(user=stays, course=course)
    roster = read_roster("login,name\nnew,New\ngone,Gone\nstays,Other\n")
    apply(course, roster, member, plan(course, roster, member).digest, let_go=True)
    assert [row[:3] for row in told()] == [
        ("member", "enrolled", "new"),
        ("member", "came_back", "gone"),
        ("member", "corrected", "stays"),
        ("member", "left", "owner"),
    ]
    assert AuditRow.objects.get(verb=Verb.CORRECTED).details == {"name": "Old -> Other"}


def test_codes_joins_and_links_are_told_without_their_secrets(
    course: Course, owner: User, outsider: User, at_member: Client, at_outsider: Client, client: Client
) -> None:
    at_member.post(reverse("join-code", args=[course.slug]), {"days": "7"})
    course.refresh_from_db()
    at_outsider.post(reverse("join"), {"code": course.join_code})
    Enrolment.objects.filter(user=owner).update(made_account=True)
    page = at_member.post(reverse("login-links", args=[course.slug]), {"user": str(owner.pk)})
    link = page.context["links"][0][1].removeprefix("http://testserver")
    form = client.get(link, follow=True)
    password = "a-long-password-7"
    client.post(form.redirect_chain[-1][0], {"new_password1": password, "new_password2": password})
    at_member.post(reverse("join-code", args=[course.slug]), {"do": "end"})
    assert [row[:3] for row in told()] == [
        ("member", "code_drawn", ""),
        ("outsider", "joined", "outsider"),
        ("member", "login_link", "owner"),
        ("owner", "password_set", "owner"),
        ("member", "code_ended", ""),
    ]
    written = str(list(AuditRow.objects.values()))
    assert course.join_code not in written and link.split("/")[3] not in written and password not in written


def test_what_is_changed_on_the_admins_pages_is_told_without_values(
    course: Course, owner: User, admin: User, at_admin: Client
) -> None:
    endpoint = {"name": "ep", "base_url": "http://127.0.0.1:9", "log_path": "", "new_key": "very-secret"}
    inline = {f"canary_runs-{name}_FORMS": "0" for name in ("TOTAL", "INITIAL")}
    added = at_admin.post(reverse("admin:labs_endpoint_add"), endpoint | inline)
    assert added.status_code == 302, added.context["errors"]
    made = Endpoint.objects.get()
    pause = {"action": "pause", "_selected_action": str(made.pk)}
    at_admin.post(reverse("admin:labs_endpoint_changelist"), pause)
    enrolment = Enrolment.objects.get(user=owner)
    role = {"user": str(owner.pk), "course": str(course.pk), "role": Role.INSTRUCTOR}
    changed = at_admin.post(reverse("admin:labs_enrolment_change", args=[enrolment.pk]), role)
    assert changed.status_code == 302, changed.context["errors"]
    delete = {"action": "delete_selected", "_selected_action": str(made.pk), "post": "yes"}
    at_admin.post(reverse("admin:labs_endpoint_changelist"), delete)
    assert [row[1:4] for row in told()] == [
        ("added", "", "endpoint ep"),
        ("done", "", "pause ep"),
        ("changed", "owner", "enrolment owner instructor Voice lab"),
        ("deleted", "", "endpoint ep"),
    ]
    assert "Role" in str(AuditRow.objects.get(verb=Verb.CHANGED).details)
    assert "very-secret" not in str(list(AuditRow.objects.values()))
    assert {row[4] for row in told()} == {"127.0.0.1"}


@pytest.mark.django_db(transaction=True)
def test_the_address_finds_its_way_through_the_threads_of_asgi(
    course: Course, member: User, settings: Settings
) -> None:
    """As daphne calls it: middleware and view in threads, with the loop between them."""
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    where = reverse("join-code", args=[course.slug])
    addresses = {f"203.0.113.{number}" for number in range(5)}

    async def post_from(address: str) -> None:
        client = AsyncClient()
        await client.aforce_login(member)
        await client.post(where, {"days": "7"}, headers={"x-forwarded-for": address})

    async def all_at_once() -> None:
        await asyncio.gather(*(post_from(address) for address in addresses))

    async_to_sync(all_at_once)()
    assert {row[-1] for row in told()} == addresses


def test_it_is_searched_page_by_page(
    course: Course,
    owner: User,
    member: User,
    at_admin: Client,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(150):
        record(Verb.POINTS_GIVEN, member, course=course, whom=owner, what=f"step-{number}")
    with coming_from(Origin("203.0.113.7", owner.pk)):
        record(Verb.CHANGED, member, what="endpoint <b>ep</b>")

    def found(query: str) -> list[str]:
        return [shown.row.what for shown in at_admin.get(reverse("audit") + query).context["rows"]]

    with django_assert_num_queries(4):
        assert len(found("")) == 100
    assert found("?q=203.0.113.7") == found("?verb=changed") == ["endpoint <b>ep</b>"]
    assert found("?q=owner step-149") == ["step-149"]
    assert found("?q=voice step-14&verb=points_given")[:2] == ["step-149", "step-148"]
    assert found("?q=nobody") == [] and len(found("?verb=no-such&before=²&q=%00")) == 100
    older = at_admin.get(reverse("audit")).context["older"]
    assert found("?" + older)[-1] == "step-0" and len(found("?" + older)) == 51
    page = at_admin.get(reverse("audit")).content.decode()
    assert "&lt;b&gt;ep" in page and "<b>ep" not in page


def test_a_row_outlives_the_people_in_it(course: Course, owner: User, member: User) -> None:
    record(Verb.POINTS_GIVEN, member, course=course, whom=owner, what=STEP)
    owner.delete()
    member.delete()
    course.delete()
    assert told() == [("member", "points_given", "owner", STEP, None)]


@pytest.mark.parametrize(
    ("is_behind_proxy", "forwarded", "address"),
    [
        (False, "203.0.113.7", "127.0.0.1"),
        (True, "6.6.6.6, 203.0.113.7", "203.0.113.7"),
        (True, "2001:db8::1", "2001:db8::1"),
        (True, "<script>", None),
    ],
)
def test_the_address_is_what_the_proxy_saw(
    is_behind_proxy: bool,
    forwarded: str,
    address: str | None,
    course: Course,
    at_member: Client,
    settings: Settings,
) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if is_behind_proxy else None
    where = reverse("join-code", args=[course.slug])
    at_member.post(where, {"days": "7"}, headers={"x-forwarded-for": forwarded})
    assert [row[-1] for row in told()] == [address]
