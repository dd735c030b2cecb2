"""The download of one's own data: all of it, nobody else's, nothing held back, and sent while it is made."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator
from datetime import timedelta

from asgiref.sync import async_to_sync
from axes.models import AccessLog
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import CASCADE
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from labs.actions.override import override
from labs.actions.pairs import make
from labs.actions.rules import Given, extend
from labs.models import (
    Attempt,
    BoardEntry,
    BoardName,
    Course,
    Enrolment,
    FrameStore,
    GradeEvent,
    Notice,
    Round,
    Run,
    SchoolLink,
    State,
    StepRule,
    Viewing,
)
from labs.owndata import OwnData
from labs.steps import all_steps
from labs.tables.zipped import zipped
from tests.views.rows import FRAME, STEP, attempt_in

WHERE = "/me/data.zip"


def read(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def fetched(client: Client) -> dict[str, bytes]:
    answer = client.get(WHERE)
    assert answer.status_code == 200 and answer["Content-Type"] == "application/zip"
    assert "no-store" in answer["Cache-Control"] and answer["Content-Disposition"].startswith("attachment")
    return read(b"".join(answer.streaming_content))


def table(files: dict[str, bytes], name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(files[f"{name}.csv"].decode("utf-8-sig"))))


def test_with_whom_one_measured_and_what_the_school_calls_one(
    course: Course, owner: User, member: User, at_owner: Client
) -> None:
    mate = User.objects.create_user("mate")
    Enrolment.objects.create(user=mate, course=course)
    make(course, member, owner, mate)
    SchoolLink.objects.create(user=owner, key="school-1", subject="s-1")
    files = fetched(at_owner)
    assert [row["partner"] for row in table(files, "pairs")] == ["mate"]
    assert json.loads(files["account.json"])["school_logins"][0]["subject"] == "s-1"


def test_all_of_it(course: Course, owner: User, member: User, attempt: Attempt, at_owner: Client) -> None:
    User.objects.filter(pk=owner.pk).update(first_name="민준", email="min@example.com")
    BoardName.objects.create(course=course, user=owner, name="Whale")
    BoardEntry.objects.create(
        course=course,
        user=owner,
        attempt=attempt,
        board="voice",
        comparable="x/1",
        value=900.5,
        detail={"prompt_n": 12},
        is_first=True,
    )
    extend(course, owner, None, Given(extra_attempts=2), "was ill", member)
    override(attempt, all_steps()[STEP], member, 3, "spoke")
    Viewing.objects.create(by=member, whom=owner, course=course, until=timezone.now())
    AccessLog.objects.create(
        username="owner", ip_address="10.1.2.3", user_agent="Firefox", path_info="/login/"
    )
    files = fetched(at_owner)
    account = json.loads(files["account.json"])
    assert (account["username"], account["first_name"], account["email"]) == (
        "owner",
        "민준",
        "min@example.com",
    )
    assert "password" not in account
    assert table(files, "courses")[0]["board_name"] == "Whale"
    assert [row["attempt"] for row in table(files, "attempts")] == [str(attempt.pk)]
    grade = table(files, "grades")[0]
    assert (grade["points"], grade["by_hand"], grade["comment"]) == ("3", "yes", "spoke")
    assert table(files, "extensions")[0]["why"] == "was ill"
    assert table(files, "boards")[0]["value"] == "900.5"
    assert [row["kind"] for row in table(files, "notices")] == ["extended", "points"]
    assert table(files, "viewings")[0]["by"] == "member"
    assert [row["what"] for row in table(files, "changes")] == ["extended", "points_given"]
    assert table(files, "logins")[-1]["address"] == "10.1.2.3"
    (name,) = [name for name in files if name.endswith("attempt.json")]
    told = json.loads(files[name])
    rounds = list(Round.objects.filter(attempt=attempt))
    assert [one["answers"] for one in told["rounds"]] == [row.answers for row in rounds]
    assert [grade["kind"] for grade in told["grades"]] == ["auto", "override"]
    frames = [name for name in files if "/frames/" in name]
    assert len(frames) == FrameStore.objects.count() > 0
    line = json.loads(files[frames[0]])
    assert (line["at_us"], base64.b64decode(line["base64"])) == (1234, FRAME)
    assert "microseconds" in files["about.txt"].decode()


def test_it_is_said_in_the_readers_language(at_owner: Client) -> None:
    at_owner.cookies["django_language"] = "ko"
    assert re.search("[가-힣]", fetched(at_owner)["about.txt"].decode())


def test_nobody_elses(
    course: Course, owner: User, outsider: User, attempt: Attempt, at_outsider: Client, at_member: Client
) -> None:
    for client in (at_outsider, at_member):
        files = fetched(client)
        whole = b"\n".join(files.values()).decode()
        assert str(attempt.pk) not in whole and "owner" not in whole
        assert table(files, "attempts") == [] and not [name for name in files if name.startswith("attempts/")]


def test_what_an_instructor_did_shows_no_address_of_theirs(
    course: Course, owner: User, at_owner: Client, at_member: Client
) -> None:
    at_member.post(f"/courses/{course.slug}/people/view-as", {"user": owner.pk}, REMOTE_ADDR="10.9.8.7")
    whole = b"\n".join(fetched(at_owner).values()).decode()
    assert "view_began" in whole and "10.9.8.7" not in whole


def test_work_in_a_course_that_was_left_is_there_still(
    course: Course, owner: User, attempt: Attempt, at_owner: Client
) -> None:
    Enrolment.objects.filter(user=owner).update(left_at=timezone.now())
    assert str(attempt.pk) in b"".join(fetched(at_owner).values()).decode()


def test_not_a_bit_of_what_is_held_back(course: Course, owner: User, member: User, at_owner: Client) -> None:
    StepRule.objects.create(course=course, step=STEP, zone=course.zone, holds_scores=True)
    attempt = attempt_in(State.GRADED, owner, course)
    BoardEntry.objects.create(
        course=course,
        user=owner,
        attempt=attempt,
        board="voice",
        comparable="x/1",
        value=900.5,
        detail={},
        is_first=True,
    )
    first = fetched(at_owner)
    GradeEvent.objects.update(points=0, open_points=7, checks=[])
    Run.objects.filter(attempt=attempt).update(outcome=Run.Outcome.INCONCLUSIVE)
    Attempt.objects.filter(pk=attempt.pk).update(charged=False)
    override(attempt, all_steps()[STEP], member, 2, "for the talk")
    BoardEntry.objects.update(value=1.5)
    second = fetched(at_owner)
    for files in (first, second):
        files.pop("about.txt")
    assert first == second
    assert table(first, "grades") == [] and "900.5" not in first["boards.csv"].decode()
    StepRule.objects.all().delete()
    assert fetched(at_owner) != second, "this comparison can tell"


def test_a_cell_is_no_formula(course: Course, owner: User, member: User, at_owner: Client) -> None:
    extend(course, owner, None, Given(extra_attempts=2), '=HYPERLINK("http://x")', member)
    assert table(fetched(at_owner), "extensions")[0]["why"] == '\'=HYPERLINK("http://x")'


def test_questions_grow_by_the_handful_only(course: Course, owner: User, at_owner: Client) -> None:
    """Attempts are read five at a time: so a download of any size holds no more than that."""
    counts = []
    for many in (1, 4):
        for _ in range(many):
            attempt_in(State.GRADED, owner, course)
        with CaptureQueriesContext(connection) as asked:
            fetched(at_owner)
        counts.append(len(asked))
    assert counts[0] == counts[1]


def test_it_is_sent_while_it_is_made(owner: User, course: Course, attempt: Attempt) -> None:
    """The first bytes come before the attempts are read."""
    asked: list[str] = []

    def members() -> Iterator[tuple[str, list[bytes]]]:
        for member in OwnData(owner).members():
            asked.append(member[0])
            yield member[0], list(member[1])

    pieces = zipped(members())
    next(piece for piece in pieces if piece)
    assert asked == ["about.txt"]
    whole = b"".join(pieces)
    assert len(asked) > 10 and len(whole) > 1000


def test_under_asgi_too(owner: User, course: Course, attempt: Attempt) -> None:
    async def fetch() -> bytes:
        client = AsyncClient()
        await client.aforce_login(owner)
        answer = await client.get(WHERE, headers={"accept-encoding": "gzip, br"})
        assert answer.is_async, "else the server would make all of it before it sends any"
        return b"".join([piece async for piece in answer.streaming_content])

    files = read(async_to_sync(fetch)())
    assert "account.json" in files and [name for name in files if name.endswith("attempt.json")]


def test_two_attempts_of_a_second_do_not_share_a_folder(
    course: Course, owner: User, at_owner: Client
) -> None:
    Notice.objects.all().delete()
    for _ in range(2):
        attempt_in(State.GRADED, owner, course)
    Attempt.objects.update(created_at=timezone.now() - timedelta(days=1))
    assert len([name for name in fetched(at_owner) if name.endswith("attempt.json")]) == 2


# What of a person stands in the download, and what is no more than a count of it or a try of ten minutes.
TOLD = {
    "Attempt",
    "BoardEntry",
    "BoardName",
    "Enrolment",
    "Extension",
    "Grade",
    "Notice",
    "Pair",
    "PairMember",
    "SchoolLink",
    "Viewing",
}
LEFT_OUT = {"AttemptCount", "JoinTry"}


def test_a_new_table_about_people_is_thought_of() -> None:
    """`labs/owndata/` tells it, or it says here why not."""
    about_people = {
        model.__name__
        for model in apps.get_app_config("labs").get_models()
        for field in model._meta.concrete_fields
        if field.related_model is User and field.remote_field.on_delete is CASCADE
    }
    assert about_people == TOLD | LEFT_OUT
