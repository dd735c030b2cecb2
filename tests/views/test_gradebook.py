"""The gradebook on its page, as CSV and as a workbook: the same points for the same students, and for no one else."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from openpyxl import load_workbook
from pytest_django import DjangoAssertNumQueries

from labs.actions.override import override
from labs.actions.roster.plan import plan
from labs.gradebook.book import Gradebook, gradebook_of
from labs.gradebook.order import chosen, ordered
from labs.models import Attempt, Course, Enrolment, Extension, Grade, Role, State, StepRule
from labs.roster import read_roster
from labs.rules.window import Late
from labs.steps import all_steps
from labs.tables.decode import decode
from labs.views.steplist import course_rows
from tests.views.grades import grade_class
from tests.views.pages import Page
from tests.views.rows import STEP, attempt_in

# Session, user, course and right; rules, grades, other attempts, students.
QUERIES = 7


def where(course: Course, name: str = "gradebook", query: str = "") -> str:
    return reverse(name, args=[course.slug]) + query


def csv_rows(client: Client, course: Course, query: str = "") -> list[list[str]]:
    answer = client.get(where(course, "gradebook-csv", query))
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.reader(io.StringIO(answer.content.decode("utf-8-sig"), newline="")))


def xlsx_rows(client: Client, course: Course, query: str = "") -> list[list[object]]:
    sheet = load_workbook(io.BytesIO(client.get(where(course, "gradebook-xlsx", query)).content)).active
    assert sheet is not None
    return [[cell.value for cell in row] for row in sheet.iter_rows()]


@pytest.mark.parametrize("name", ["gradebook", "gradebook-csv", "gradebook-xlsx"])
def test_only_for_the_courses_instructors(
    name: str, course: Course, at_owner: Client, at_outsider: Client, at_member: Client, client: Client
) -> None:
    assert at_owner.get(where(course, name)).status_code == 404
    assert at_outsider.get(where(course, name)).status_code == 404
    assert at_member.get(where(Course.objects.create(slug="b", title="B"), name)).status_code == 404
    assert at_member.get(reverse(name, args=["no-such-course"])).status_code == 404
    assert client.get(where(course, name)).status_code == 302
    assert at_member.get(where(course, name)).status_code == 200


def test_nothing_of_another_course_is_in_it(course: Course, owner: User, at_member: Client) -> None:
    other = Course.objects.create(slug="b", title="B")
    stranger = grade_class(other, 1)[0]
    Enrolment.objects.create(user=owner, course=other)
    attempt_in(State.GRADED, owner, other)
    page = at_member.get(where(course)).content.decode()
    assert stranger.username not in page and "/attempts/" not in page
    assert csv_rows(at_member, course)[1][-2] == "0"


@pytest.mark.parametrize("name", ["gradebook", "gradebook-csv"])
def test_six_hundred_students_take_as_many_queries_as_none(
    name: str, course: Course, at_member: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    queries = QUERIES + (name == "gradebook")  # a page counts the reader's notices
    with django_assert_num_queries(queries):
        at_member.get(where(course, name))
    grade_class(course, 600)
    with django_assert_num_queries(queries):
        answer = at_member.get(where(course, name), headers={"accept-encoding": "identity"})
    # On the page each is named by their button too.
    assert answer.content.decode().count("학생") == (1200 if name == "gradebook" else 600)
    if name == "gradebook":
        assert answer.content.decode().count("/attempts/") == 600 * len(all_steps())


def test_page_csv_workbook_and_the_students_own_page_say_the_same(course: Course, at_member: Client) -> None:
    users = grade_class(course, 12)
    StepRule.objects.create(course=course, step=STEP, zone="Asia/Seoul", points=50)
    Attempt.objects.filter(user=users[3], step=STEP).update(late_percent=15)
    page = at_member.get(where(course)).content.decode()
    of_page = re.findall(r'<td class="num total">([^<]*)</td>', page)
    of_csv = [row[-2] for row in csv_rows(at_member, course)[1:]]
    of_xlsx = [str(Decimal(str(row[-2]))) for row in xlsx_rows(at_member, course)[1:]]
    own = [str(course_rows(user, [course])[0].points) for user in users]
    assert of_page == of_csv == own
    assert list(map(Decimal, of_xlsx)) == list(map(Decimal, own))
    assert len(set(own)) > 3, "the students were meant to differ"
    for row, user in zip(csv_rows(at_member, course)[1:], users, strict=True):
        cells = {item.step.key: item.points for item in course_rows(user, [course])[0].steps}
        assert [Decimal(cell) for cell in row[4:-2]] == list(cells.values())


def test_each_cell_leads_to_its_evidence(course: Course, owner: User, at_member: Client) -> None:
    best = attempt_in(State.GRADED, owner, course)
    attempt_in(State.GRADED, owner, course, kind="fail")
    faulty = attempt_in(State.ERRORED, owner, course, step_key="prefill", rounds=1)
    page = at_member.get(where(course), headers={"accept-language": "en"}).content.decode()
    links = re.findall(r'<td><a href="([^"]*)">([^<]*)</a>(.*?)</td>', page)
    event = Grade.objects.get(user=owner).event
    assert [(link, text) for link, text, _marks in links] == [
        (reverse("attempt", args=[faulty.pk]), "–"),
        (reverse("attempt", args=[best.pk]), str(event.points)),
    ]
    assert "Ended by a fault" in links[0][2]
    assert all(at_member.get(link).status_code == 200 for link, _text, _marks in links)


def test_overrides_open_points_and_lateness_are_marked(
    course: Course, owner: User, member: User, at_member: Client
) -> None:
    given = attempt_in(State.GRADED, owner, course, kind="fail")
    open_one = attempt_in(State.GRADED, owner, course, step_key="cache-reuse", kind="inconclusive")
    late = attempt_in(State.GRADED, owner, course, step_key="prefill", late_percent=10)
    attempt_in(State.QUEUED, owner, course, step_key="prefill", rounds=1)
    graded = given.grade_events.get().points
    override(given, all_steps()[STEP], member, 9, "=SUM(A1) spoke at the board")
    (line,) = gradebook_of(course).lines
    cells = dict(zip(all_steps(), line.cells, strict=True))
    assert (cells[STEP].points, cells[STEP].is_given, cells[STEP].graded) == (9, True, graded)
    assert cells["cache-reuse"].open_points == open_one.grade_events.get().open_points > 0
    assert cells["prefill"].points == late.grade_events.get().points * Decimal("0.9")
    page = at_member.get(where(course), headers={"accept-language": "en"}).content.decode()
    for mark in (f"by hand, graded {graded}", "open</i>", "late, −10%", "In the queue"):
        assert mark in page, mark
    notes = csv_rows(at_member, course)[1][-1]
    assert "=SUM(A1) spoke at the board" in notes and "late, −10%" in notes


def test_late_work_that_cost_nothing_is_marked_and_an_extension_makes_it_timely(
    course: Course, owner: User
) -> None:
    attempt_in(State.GRADED, owner, course)
    StepRule.objects.create(
        course=course,
        step=STEP,
        zone="Asia/Seoul",
        due_at=timezone.now() - timedelta(days=1),
        late=Late.ACCEPTED,
    )
    assert [cell.is_late for cell in gradebook_of(course).lines[0].cells if cell.points is not None] == [True]
    Extension.objects.create(course=course, user=owner, step="", days=3, zone="Asia/Seoul", why="ill")
    assert [cell.is_late for cell in gradebook_of(course).lines[0].cells if cell.points is not None] == [
        False
    ]


def test_orders_are_whole_and_who_has_no_grade_comes_last(course: Course) -> None:
    users = grade_class(course, 10)
    Grade.objects.filter(user=users[2]).delete()
    same = Grade.objects.filter(step=STEP, user__in=users[4:8]).values_list("event", flat=True)
    Grade.objects.get(user=users[4], step=STEP).event.__class__.objects.filter(pk__in=same).update(points=3)
    book = gradebook_of(course)
    place = list(all_steps()).index(STEP)
    for by in (STEP, f"-{STEP}"):
        lines = ordered(book, by)
        assert sorted(line.user.pk for line in lines) == sorted(user.pk for user in users)
        assert lines[-1].user == users[2], "unknown is last either way"
        equal = [line.user for line in lines if line.cells[place].points == 3]
        assert [user for user in equal if user in users[4:8]] == users[4:8], "equal ones stay by name"
        points = [line.cells[place].points for line in lines[:-1]]
        assert points == sorted(points, reverse=by.startswith("-"))
    assert [line.total for line in ordered(book, "-total")] == sorted(
        (line.total for line in book.lines), reverse=True
    )
    assert [line.user for line in ordered(book, "-number")] == users[::-1]
    assert [line.user for line in ordered(book, "no-such-order")] == users


def test_filters(course: Course, owner: User) -> None:
    users = grade_class(course, 3)
    Enrolment.objects.filter(user=users[2]).update(left_at=timezone.now())

    def found(show: str = "", words: str = "") -> list[User]:
        return [line.user for line in chosen(gradebook_of(course).lines, show, words)]

    assert found() == [owner, *users[:2]]
    assert found("left") == [users[2]]
    assert found("nothing") == found("missing") == [owner]
    assert found(words="학생 0001") == [users[1]]
    assert found(words="00000000") == [users[0]]
    assert found("open") == found("late") == found("given") == []


def test_exports_hold_what_the_page_shows_in_its_order(course: Course, at_member: Client) -> None:
    grade_class(course, 5)
    query = "?sort=-total&q=학생000"
    page = at_member.get(where(course, query=query)).content.decode()
    shown = re.findall(r"<bdi>(학생\d+)</bdi>", page)
    assert [row[1] for row in csv_rows(at_member, course, query)[1:]] == shown
    assert [row[1] for row in xlsx_rows(at_member, course, query)[1:]] == shown
    link = re.search(r'href="([^"]*grades\.csv[^"]*)"', page)
    assert link is not None and "sort=-total" in link.group(1)


NAMES = ["=1+1", "@SUM(1)", "+82-10", '=HYPERLINK("http://x","y")', "김뷁", "O'Brien, Ada", "-0.5"]


def test_names_come_out_inert_and_in_again_as_they_were(
    course: Course, member: User, at_member: Client
) -> None:
    """Also with titles in Korean, since a gradebook is read back as it was given out."""
    for n, name in enumerate(NAMES):
        user = User.objects.create_user(f"s{n}", first_name=name)
        Enrolment.objects.create(user=user, course=course, number=f"{n:05}")
    for language in ("en", "ko"):
        answer = at_member.get(where(course, "gradebook-csv"), headers={"accept-language": language})
        assert answer.content.startswith(b"\xef\xbb\xbf")
        rows = list(csv.reader(io.StringIO(answer.content.decode("utf-8-sig"), newline="")))
        cells = [cell for row in rows for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
        assert {row[0] for row in rows[1:]} == {f"'{n:05}" for n in range(len(NAMES))}, "zeros stay"
        roster = read_roster(decode(answer.content).text)
        assert {one.name for one in roster.people} == set(NAMES)
        change = plan(course, roster, member)
        assert (change.kept, change.corrected, change.new, change.leaving) == (len(NAMES), [], [], [])
    sheet = xlsx_rows(at_member, course)
    assert {row[1] for row in sheet[1:]} == set(NAMES)
    assert {row[0] for row in sheet[1:]} == {f"{n:05}" for n in range(len(NAMES))}


def test_names_are_text(course: Course, at_member: Client) -> None:
    user = User.objects.create_user("evil", first_name="<script>alert(1)</script>")
    Enrolment.objects.create(user=user, course=course, number="<b>1</b>")
    page = at_member.get(where(course, query='?q="><script>&sort="><script>')).content.decode()
    assert "<script>" not in page
    page = at_member.get(where(course)).content.decode()
    assert Page(page).inline == []
    assert "<script>" not in page and "&lt;script&gt;alert(1)" in page and "<b>1" not in page


def test_instructors_have_no_line(course: Course, member: User, owner: User) -> None:
    book: Gradebook = gradebook_of(course)
    assert [line.user for line in book.lines] == [owner]
    assert Enrolment.objects.get(user=member).role == Role.INSTRUCTOR


@pytest.mark.parametrize(("zone", "day"), [("Asia/Seoul", "2026-12-01"), ("America/New_York", "2026-11-30")])
def test_a_file_bears_the_day_of_the_course(
    zone: str, day: str, course: Course, at_member: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    Course.objects.update(zone=zone)
    in_the_evening = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)
    monkeypatch.setattr(timezone, "now", lambda: in_the_evening)
    for name in ("gradebook-csv", "gradebook-xlsx"):
        assert f"-grades-{day}." in at_member.get(where(course, name))["Content-Disposition"]
