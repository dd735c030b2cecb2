"""A roster in: every file that says the same gives the same people; a change is shown, then made; no work goes."""

from __future__ import annotations

import codecs

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from labs.actions.roster.apply import Outdated, apply
from labs.actions.roster.change import Change
from labs.actions.roster.plan import plan
from labs.models import Attempt, Course, Enrolment, Grade, Role, State
from labs.names import full_name
from labs.roster import read_roster
from labs.tables.decode import decode
from labs.tables.errors import Unreadable
from tests.views.rows import attempt_in

# Three people, one with a syllable that euc-kr lacks; titles, a quoted line end, an empty row, one of them again.
TEXT = (
    '이메일,이름\nkim@example.com,김뷁\n"lee@example.com","이\n서연"\n'
    "park@example.com,박지호\nKIM@Example.com,김뷁\n\n"
)
WITH_TABS = TEXT.replace(",", "\t")
PEOPLE = [("kim@example.com", "김뷁"), ("lee@example.com", "이 서연"), ("park@example.com", "박지호")]


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        codecs.BOM_UTF8 + TEXT.encode(),
        TEXT.encode("cp949"),
        codecs.BOM_UTF16_LE + WITH_TABS.encode("utf-16-le"),
        WITH_TABS.encode("utf-16-le"),
        TEXT.replace(",", ";").encode(),
        TEXT.replace("\n", "\r").encode(),
        TEXT.replace("\n", "\r\n").encode("cp949"),
    ],
    ids=["utf-8", "bom", "cp949", "utf-16", "utf-16-no-bom", "semicolons", "cr", "crlf-cp949"],
)
def test_every_file_gives_the_same_three_people(data: bytes) -> None:
    roster = read_roster(decode(data).text)
    assert [(one.email, one.name) for one in roster.people] == PEOPLE
    (again,) = roster.refused
    assert (again.row, again.text) == (6, "KIM@Example.com 김뷁")
    assert str(again.why) == "The same person as in row 2."


def test_columns_in_any_order_and_without_titles() -> None:
    titled = read_roster("학번\t성명\tE-Mail\n00123\t김민준\tkim@example.com\n").people
    bare = read_roster("00123,김민준,kim@example.com\n00124,이서연,lee@example.com\n").people
    assert [(p.number, p.name, p.email) for p in titled] == [("00123", "김민준", "kim@example.com")]
    assert [(p.number, p.name) for p in bare] == [("00123", "김민준"), ("00124", "이서연")]
    assert [p.email for p in bare] == ["kim@example.com", "lee@example.com"]
    headed = read_roster(
        "2026-2 음성 비서 실습\n\n순번,학번,성명(한글),이메일\n1,00123,김민준,kim@example.com\n"
    ).people
    assert [(p.row, p.number, p.name, p.email) for p in headed] == [(4, "00123", "김민준", "kim@example.com")]
    family = read_roster("Login;Last name;First name\nada;Lovelace;Ada\nkim;김;민준\n").people
    assert [(p.username, p.name) for p in family] == [("ada", "Ada Lovelace"), ("kim", "김민준")]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nobody,Kim", "This is no e-mail address: nobody"),
        (",Kim", "It has no e-mail address, login or student number."),
        ("a@example.com,K\ufffdm", "It holds the mark of a letter that was lost when the file was saved."),
        ("a@example.com," + "x" * 151, "The name is too long."),
        ("a@example.com,K\x07m", "It holds a character that is no text."),
    ],
)
def test_a_line_that_is_no_person_is_refused_with_its_reason(line: str, why: str) -> None:
    roster = read_roster(f"email,name\n{line}\nb@example.com,Lee\n")
    assert [one.email for one in roster.people] == ["b@example.com"]
    assert [(one.row, str(one.why)) for one in roster.refused] == [(2, why)]


@pytest.mark.parametrize("text", ["", "\n\n", "just a word\n", "name\nKim\n"])
def test_a_list_that_names_nobody_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        read_roster(text)


def planned(course: Course, by: User, text: str) -> Change:
    return plan(course, read_roster(text), by)


def applied(course: Course, by: User, text: str, *, let_go: bool = True) -> Change:
    roster = read_roster(text)
    return apply(course, roster, by, plan(course, roster, by).digest, let_go=let_go)


def test_new_people_get_an_account_without_a_password(course: Course, member: User) -> None:
    change = applied(course, member, TEXT)
    assert (len(change.new), len(change.refused)) == (3, 1)
    users = User.objects.filter(enrolments__course=course, enrolments__role=Role.STUDENT).order_by("username")
    assert [(user.username, full_name(user)) for user in users] == PEOPLE
    assert not any(user.has_usable_password() for user in users)
    again = planned(course, member, TEXT)
    assert (again.kept, again.new, again.corrected, again.leaving) == (3, [], [], [])


def test_a_preview_writes_nothing(course: Course, member: User, owner: User) -> None:
    change = planned(course, member, TEXT)
    assert len(change.new) == 3 and [e.user for e in change.leaving] == [owner]
    assert User.objects.count() == 2 and Enrolment.objects.active().count() == 2


def test_who_is_dropped_keeps_all_work_and_comes_back_with_it(
    course: Course, member: User, owner: User
) -> None:
    attempt = attempt_in(State.GRADED, owner, course)
    grade = Grade.objects.get(user=owner)
    applied(course, member, TEXT)
    gone = Enrolment.objects.get(user=owner)
    assert gone.left_at is not None
    assert Attempt.objects.get(pk=attempt.pk).user == owner and Grade.objects.get(pk=grade.pk).event
    change = applied(course, member, TEXT + "owner@example.com,Owner\n", let_go=False)
    assert [a.listed.email for a in change.new] == ["owner@example.com"], "another address is another person"
    User.objects.filter(pk=owner.pk).update(email="Owner2@Example.com")
    change = applied(course, member, TEXT + "OWNER2@example.COM,Owner\n")
    assert [a.user for a in change.back] == [owner]
    assert Enrolment.objects.get(pk=gone.pk).left_at is None


def test_part_of_a_class_can_be_added_without_letting_anybody_go(
    course: Course, member: User, owner: User
) -> None:
    applied(course, member, TEXT, let_go=False)
    assert Enrolment.objects.active().filter(course=course, role=Role.STUDENT).count() == 4


def test_a_known_student_number_with_a_new_address_is_the_same_person(
    course: Course, member: User, owner: User
) -> None:
    Enrolment.objects.filter(user=owner).update(number="00123")
    text = "학번,이메일,이름\n00123,new@example.com,Owner\n"
    change = applied(course, member, text)
    assert (change.new, change.leaving) == ([], [])
    owner.refresh_from_db()
    assert (owner.username, owner.email, full_name(owner)) == ("owner", "new@example.com", "Owner")


def test_instructors_stay_what_they_are(course: Course, member: User) -> None:
    change = applied(course, member, "login,name\nMEMBER,Somebody else\nkim@example.com,Kim\n")
    assert [str(one.why) for one in change.refused] == ["This is an instructor of the course, and stays one."]
    assert Enrolment.objects.get(user=member).role == Role.INSTRUCTOR
    assert Enrolment.objects.get(user=member).left_at is None


def test_a_name_is_not_changed_in_other_peoples_courses(
    course: Course, member: User, owner: User, outsider: User
) -> None:
    Enrolment.objects.create(user=outsider, course=course)
    staff = User.objects.create_user("staff", is_staff=True, first_name="Root")
    text = "login,name\nowner,New Name\noutsider,Evil Name\nstaff,Evil Name\n"
    change = applied(course, member, text)
    assert [c.name for c in change.corrected] == ["New Name"]
    assert [c.kept_name for c in change.other_names] == ["Evil Name"]
    for user, name in ((owner, "New Name"), (outsider, ""), (staff, "Root")):
        user.refresh_from_db()
        assert full_name(user) == name


def test_an_address_of_two_accounts_is_nobodys(course: Course, member: User) -> None:
    for name in ("one", "two"):
        User.objects.create_user(name, email="both@example.com")
    change = planned(course, member, "email\nBOTH@example.com\n")
    assert (change.new, len(change.refused)) == ([], 1)


def test_two_lines_of_one_account_count_once(course: Course, member: User) -> None:
    User.objects.create_user("kim", email="kim@example.com")
    change = planned(course, member, "login,email,name\nkim,,Kim\n,kim@example.com,Kim\n")
    assert len(change.new) == 1
    assert [(one.row, str(one.why)) for one in change.refused] == [(3, "The same person as in row 2.")]


def test_what_was_not_previewed_is_not_applied(course: Course, member: User, owner: User) -> None:
    roster = read_roster(TEXT)
    digest = plan(course, roster, member).digest
    Enrolment.objects.filter(user=owner).update(left_at=timezone.now())
    with pytest.raises(Outdated) as outdated:
        apply(course, roster, member, digest, let_go=True)
    assert outdated.value.change.leaving == []
    assert not User.objects.filter(username="kim@example.com").exists()


@pytest.mark.parametrize("people", [10, 300])
def test_a_preview_asks_a_fixed_number_of_questions(
    people: int, course: Course, member: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    text = "email,name\n" + "".join(f"s{n}@example.com,S {n}\n" for n in range(people))
    applied(course, member, text)
    with django_assert_num_queries(3):
        assert planned(course, member, text).kept == people


def test_a_preview_is_of_all_that_is_written(course: Course, member: User) -> None:
    lists = [
        "login,email,name,number\nkim,kim@example.com,Kim,1\n",
        "login,email,name,number\nkin,kim@example.com,Kim,1\n",
        "login,email,name,number\nkim,kin@example.com,Kim,1\n",
        "login,email,name,number\nkim,kim@example.com,Kin,1\n",
        "login,email,name,number\nkim,kim@example.com,Kim,2\n",
    ]
    digests = {plan(course, read_roster(text), member).digest for text in lists}
    assert len(digests) == len(lists)
