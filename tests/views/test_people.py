"""The instructor's page of people: the list in with its preview, the enrolment code, and login links."""

from __future__ import annotations

import html
import re

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from labs.models import Course, Enrolment, JoinTry, Role, State
from tests.views.conftest import client_of
from tests.views.pages import Page
from tests.views.rows import attempt_in

LIST = "이메일,이름\nkim@example.com,김뷁\n"
BROKEN_LINES = '이메일,이름\rkim@example.com,"김\r뷁"\r'


def at(name: str, course: Course) -> str:
    return reverse(name, args=[course.slug])


def preview(client: Client, course: Course, data: bytes) -> str:
    answer = client.post(at("roster", course), {"file": SimpleUploadedFile("list.csv", data)})
    assert answer.status_code == 200
    return answer.content.decode()


def hidden(page: str) -> dict[str, str]:
    found = re.findall(r'<input type="hidden" name="(people|digest)" value="([^"]*)"', page)
    # As a browser sends it: every line end as CRLF.
    return {name: re.sub("\r\n|\r|\n", "\r\n", html.unescape(value)) for name, value in found}


@pytest.mark.parametrize("name", ["people", "roster", "join-code", "login-links", "bring-back"])
def test_only_for_the_courses_instructors(
    name: str, course: Course, at_owner: Client, at_outsider: Client, at_member: Client
) -> None:
    where = at(name, course)
    other = Course.objects.create(slug="third", title="Third")
    for client, place in (
        (at_owner, where),
        (at_outsider, where),
        (at_member, at(name, other)),
        (at_member, reverse(name, args=["no-such-course"])),
    ):
        answer = client.get(place) if name == "people" else client.post(place)
        assert answer.status_code == 404
    assert at_member.get(at("people", course)).status_code == 200


@pytest.mark.parametrize(
    ("encoding", "shown"), [("cp949", "CP949"), ("utf-8", "UTF-8"), ("utf-8-sig", "UTF-8 with BOM")]
)
def test_a_file_is_previewed_with_its_encoding_then_applied(
    encoding: str, shown: str, course: Course, owner: User, at_member: Client
) -> None:
    page = preview(at_member, course, LIST.encode(encoding))
    assert f"<dd>{shown}</dd>" in page and "김뷁" in page
    assert not User.objects.filter(username="kim@example.com").exists(), "a preview saves nothing"
    answer = at_member.post(at("roster", course), hidden(page) | {"do": "apply", "let_go": "1"})
    assert answer.status_code == 302
    kim = User.objects.get(username="kim@example.com")
    assert kim.first_name == "김뷁" and Enrolment.objects.get(user=kim, course=course).role == Role.STUDENT
    assert Enrolment.objects.get(user=owner).left_at is not None


def test_a_list_survives_the_way_through_a_browser(course: Course, at_member: Client) -> None:
    page = preview(at_member, course, BROKEN_LINES.encode("utf-16"))
    assert at_member.post(at("roster", course), hidden(page) | {"do": "apply"}).status_code == 302
    assert User.objects.get(username="kim@example.com").first_name == "김 뷁"


def test_who_was_dropped_finds_nothing_at_once_and_is_taken_in_again(
    course: Course, owner: User, at_owner: Client, at_member: Client
) -> None:
    attempt = attempt_in(State.GRADED, owner, course)
    page = preview(at_member, course, LIST.encode())
    at_member.post(at("roster", course), hidden(page) | {"do": "apply", "let_go": "1"})
    for where in (reverse("attempt", args=[attempt.pk]), reverse("step", args=[course.slug, "cache-break"])):
        assert at_owner.get(where).status_code == 404
    assert course.title not in at_owner.get(reverse("home")).content.decode()
    assert at_member.get(reverse("attempt", args=[attempt.pk])).status_code == 200
    assert at_member.post(at("bring-back", course), {"user": str(owner.pk)}).status_code == 302
    assert at_owner.get(reverse("attempt", args=[attempt.pk])).status_code == 200


def test_a_pasted_list_and_one_that_changed_meanwhile(course: Course, owner: User, at_member: Client) -> None:
    page = at_member.post(at("roster", course), {"people": LIST}).content.decode()
    Enrolment.objects.filter(user=owner).update(left_at=timezone.now())
    answer = at_member.post(at("roster", course), hidden(page) | {"do": "apply"})
    assert answer.status_code == 409 and "nothing was saved" in answer.content.decode()
    assert not User.objects.filter(username="kim@example.com").exists()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"email\n" + b"x" * 256 * 1024, "This file is larger than 256 KiB."),
        (b"email\n" + b"x" * 3_000_000, "This file is larger than 256 KiB."),
        (b"email,name\na@example.com,\xff\n", "Row 2 holds bytes that are neither"),
        (b"PK\x03\x04", "Save it as CSV"),
        (b"", "There is nothing in this list."),
        (b'email,name\na@example.com,"Kim\n', "Row 2 has a quote"),
    ],
)
def test_a_file_that_is_no_list_is_refused_with_a_sentence(
    data: bytes, sentence: str, course: Course, at_member: Client
) -> None:
    answer = at_member.post(at("roster", course), {"file": SimpleUploadedFile("list.csv", data)})
    assert answer.status_code == 422 and sentence in answer.content.decode()


@pytest.mark.parametrize("language", ["ko", "en"])
def test_pages_have_nothing_inline_and_every_id_once(
    language: str, course: Course, owner: User, at_member: Client
) -> None:
    at_member.post(at("join-code", course), {"days": "7"})
    gone = User.objects.create_user("gone", first_name="Gone")
    Enrolment.objects.create(user=gone, course=course, left_at=timezone.now())
    User.objects.create_user("new@example.com", email="new@example.com")
    both = LIST + "owner,x\ngone,Gone\nmember,x\nnobody@,x\n"
    asked = {"headers": {"accept-language": language}}
    answers = [
        at_member.get(at("people", course), **asked),
        at_member.post(at("roster", course), {"people": both.replace("이메일", "login")}, **asked),
        at_member.post(at("roster", course), {}, **asked),
        at_member.post(at("login-links", course), {"user": str(owner.pk)}, **asked),
        at_member.get(reverse("join"), **asked),
        Client().get(reverse("set-password", args=["x", "y"]), **asked),
    ]
    for answer in answers:
        page = Page(answer.content.decode())
        assert page.inline == [] and page.lang == language
        assert sorted(set(page.ids)) == sorted(page.ids)


def test_names_are_text(course: Course, at_member: Client) -> None:
    page = preview(at_member, course, b"email,name\na@example.com,<script>alert(1)</script>\nb,<img src=x>\n")
    assert "<script>alert" not in page and "<img" not in page and "&lt;script&gt;alert(1)" in page


def test_a_code_lets_in_and_the_old_one_is_dead(course: Course, outsider: User, at_member: Client) -> None:
    def draw() -> str:
        at_member.post(at("join-code", course), {"days": "7"})
        page = at_member.get(at("people", course)).content.decode()
        found = re.search(r"[A-Z2-9]{5}-[A-Z2-9]{5}", page)
        assert found is not None
        return found.group()

    old, new = draw(), draw()
    client = client_of(outsider)
    assert client.post(reverse("join"), {"code": old}).status_code == 422
    assert not Enrolment.objects.filter(user=outsider, course=course).exists()
    assert client.post(reverse("join"), {"code": new.lower().replace("-", " ")}).status_code == 302
    assert Enrolment.objects.get(user=outsider, course=course).role == Role.STUDENT
    assert client.get(reverse("step", args=[course.slug, "cache-break"])).status_code == 200


def test_an_ended_and_an_expired_code_let_nobody_in(
    course: Course, outsider: User, at_outsider: Client, at_member: Client
) -> None:
    at_member.post(at("join-code", course), {"days": "7"})
    course.refresh_from_db()
    Course.objects.update(join_code_ends_at=timezone.now())
    assert at_outsider.post(reverse("join"), {"code": course.join_code}).status_code == 422
    assert course.join_code[:5] not in at_member.get(at("people", course)).content.decode()
    at_member.post(at("join-code", course), {"do": "end"})
    for nothing in ("", "-", course.join_code):
        assert at_outsider.post(reverse("join"), {"code": nothing}).status_code == 422
    assert not Enrolment.objects.filter(user=outsider, course=course).exists()


def test_guessing_is_slowed_down(
    course: Course, outsider: User, at_outsider: Client, at_member: Client
) -> None:
    at_member.post(at("join-code", course), {"days": "7"})
    course.refresh_from_db()
    for _ in range(5):
        at_outsider.post(reverse("join"), {"code": "WRONGWRONG"})
    blocked = at_outsider.post(reverse("join"), {"code": course.join_code})
    assert blocked.status_code == 422 and "Wait ten minutes" in blocked.content.decode()
    JoinTry.objects.update(at=timezone.now() - timezone.timedelta(minutes=11))
    assert at_outsider.post(reverse("join"), {"code": course.join_code}).status_code == 302


def test_who_was_dropped_does_not_come_back_by_code(
    course: Course, owner: User, at_owner: Client, at_member: Client
) -> None:
    at_member.post(at("join-code", course), {"days": "7"})
    course.refresh_from_db()
    Enrolment.objects.filter(user=owner).update(left_at=timezone.now())
    assert at_owner.post(reverse("join"), {"code": course.join_code}).status_code == 422
    assert Enrolment.objects.get(user=owner).left_at is not None


def test_an_instructor_stays_one_by_the_code(course: Course, member: User, at_member: Client) -> None:
    at_member.post(at("join-code", course), {"days": "7"})
    course.refresh_from_db()
    assert at_member.post(reverse("join"), {"code": course.join_code}).status_code == 302
    assert Enrolment.objects.get(user=member).role == Role.INSTRUCTOR


def links_of(client: Client, course: Course, **data: str) -> list[str]:
    page = client.post(at("login-links", course), data).content.decode()
    return re.findall(r"http://testserver(/set-password/[^<]+)", page)


def test_a_printed_link_sets_a_password_once(course: Course, at_member: Client, client: Client) -> None:
    page = preview(at_member, course, LIST.encode())
    at_member.post(at("roster", course), hidden(page) | {"do": "apply"})
    (link,) = links_of(at_member, course)
    form = client.get(link, follow=True)
    assert "kim@example.com" in form.content.decode()
    assert "<ul>" not in form.content.decode(), "a list is no description of a field"
    where = form.redirect_chain[-1][0]
    assert link not in where, "the secret leaves the address at once"
    password = "a-long-password-7"
    done = client.post(where, {"new_password1": password, "new_password2": password})
    assert done.status_code == 302
    login = {"username": "kim@example.com", "password": password}
    assert client.post(reverse("login"), login)["Location"] == reverse("home")
    used = Client().get(link, headers={"accept-language": "en"})
    assert "This link has been used" in used.content.decode()
    assert links_of(at_member, course) == [], "who has a password needs none"


@pytest.mark.parametrize("name", ["roster", "join-code", "login-links"])
def test_an_answer_to_a_form_cannot_be_reloaded(name: str, course: Course, at_member: Client) -> None:
    answer = at_member.get(at(name, course))
    assert (answer.status_code, answer["Location"]) == (302, at("people", course))
    assert not Course.objects.exclude(join_code="").exists()


def test_a_link_to_the_account_of_others_is_not_made(
    course: Course, owner: User, outsider: User, at_member: Client
) -> None:
    staff = User.objects.create_user("staff", is_staff=True)
    teacher = User.objects.create_user("teacher")
    Enrolment.objects.create(user=teacher, course=Course.objects.get(slug="other"), role=Role.INSTRUCTOR)
    for user in (outsider, staff, teacher):
        Enrolment.objects.create(user=user, course=course)
        assert links_of(at_member, course, user=str(user.pk)) == []
    assert links_of(at_member, course, user=str(owner.pk)) == [], "had a password before any course"
    Enrolment.objects.filter(user=owner).update(made_account=True)
    assert len(links_of(at_member, course, user=str(owner.pk))) == 1
    Enrolment.objects.filter(user=owner).update(left_at=timezone.now())
    assert at_member.post(at("login-links", course), {"user": str(owner.pk)}).status_code == 404
    for nobody in ("x", "9" * 30, "0"):
        assert at_member.post(at("login-links", course), {"user": nobody}).status_code == 404
        assert at_member.post(at("bring-back", course), {"user": nobody}).status_code == 404


def test_joining_needs_a_login(client: Client, course: Course) -> None:
    answer = client.post(reverse("join"), {"code": "X"})
    assert answer.status_code == 302 and answer["Location"].startswith(reverse("login"))
