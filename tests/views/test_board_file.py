"""Boards as files: the page's rows for the same eyes, frozen where the page is, and nothing that calculates."""

from __future__ import annotations

import csv
import io

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from openpyxl import load_workbook

from labs.boards import code_name
from labs.models import BoardEntry, BoardName, Course, State, StepRule
from tests.views.rows import attempt_in
from tests.views.test_boards import stand


@pytest.fixture
def entry(owner: User, course: Course) -> BoardEntry:
    return stand(attempt_in(State.GRADED, owner, course, step_key="voice-turn"))


def url(course: Course, ending: str = "csv", board: str = "voice") -> str:
    return reverse(f"board-{ending}", args=[course.slug, board])


def rows(client: Client, where: str) -> list[list[str]]:
    data = client.get(where).content
    assert data.startswith(b"\xef\xbb\xbf")
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))


def test_three_people(
    entry: BoardEntry, course: Course, at_owner: Client, at_member: Client, at_outsider: Client
) -> None:
    for ending in ("csv", "xlsx"):
        assert at_outsider.get(url(course, ending)).status_code == 404
        assert at_owner.get(url(course, ending, "nothing")).status_code == 404
        answer = at_member.get(url(course, ending))
        assert answer.status_code == 200 and answer["Content-Disposition"].startswith("attachment")
    (titles, for_class), (_titles, for_staff) = rows(at_owner, url(course)), rows(at_member, url(course))
    assert titles[:3] == ["Rank", "Student", "five turns, counted, ms"]
    assert for_class[:6] == ["1", code_name(course.pk, entry.user_id), "900.0", "100", "50", "812.5"]
    assert entry.user.username not in ",".join(for_class)
    assert for_staff[1:3] == ["owner", "owner"]


def test_an_instructor_may_have_what_the_class_sees_and_a_student_nothing_else(
    entry: BoardEntry, course: Course, at_owner: Client, at_member: Client
) -> None:
    assert rows(at_member, url(course) + "?as=class") == rows(at_owner, url(course))
    assert rows(at_owner, url(course) + "?as=staff") == rows(at_owner, url(course))


def test_frozen_is_frozen_in_the_file_too(
    entry: BoardEntry, course: Course, at_owner: Client, at_member: Client
) -> None:
    at_member.post(reverse("board-freeze", args=[course.slug, "voice"]))
    BoardEntry.objects.update(value=1.0)
    assert rows(at_owner, url(course))[1][2] == "900.0"
    assert rows(at_owner, url(course))[1][-1].endswith("(frozen)")
    assert rows(at_member, url(course) + "?as=class")[1][2] == "900.0"
    assert rows(at_member, url(course))[1][3] == "1.0"


def test_whose_scores_are_held_and_who_hides_stand_in_no_file_of_the_class(
    entry: BoardEntry, course: Course, owner: User, at_owner: Client, at_member: Client
) -> None:
    BoardName.objects.create(course=course, user=owner, is_hidden=True)
    assert len(rows(at_owner, url(course))) == 1
    assert rows(at_member, url(course))[1][-2] == "no"
    BoardName.objects.all().delete()
    StepRule.objects.create(course=course, step="voice-turn", zone="Asia/Seoul", holds_scores=True)
    assert len(rows(at_owner, url(course))) == 1
    assert len(rows(at_member, url(course))) == 2


def test_a_name_is_no_formula(entry: BoardEntry, course: Course, owner: User, at_owner: Client) -> None:
    BoardName.objects.create(course=course, user=owner, name='=HYPERLINK("x")')
    assert rows(at_owner, url(course))[1][1].startswith("'=")
    sheet = load_workbook(io.BytesIO(at_owner.get(url(course, "xlsx")).content)).active
    assert sheet is not None
    assert sheet["B2"].value == '=HYPERLINK("x")' and sheet["B2"].data_type != "f"
    assert sheet["C2"].value == 900
