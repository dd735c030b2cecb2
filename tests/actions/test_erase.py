"""After a course's end personal data go by policy: grades and totals stay, and no table holds a word of the person."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.apps import apps
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.management import CommandError, call_command
from django.db import models
from django.utils import timezone
from pytest_django import Settings

from labs.actions.audit import Origin, coming_from, record
from labs.actions.board import freeze
from labs.actions.erase.apply import Erasing, erase_some, finish
from labs.actions.erase.plan import due_courses
from labs.actions.erase.scrub import GONE, numbers_of
from labs.actions.join import join
from labs.actions.override import override
from labs.actions.regrade.apply import apply
from labs.actions.regrade.build import build, start
from labs.actions.rules import Given, extend
from labs.actions.view_as import begin
from labs.boards import board_for
from labs.gradebook.book import gradebook_of
from labs.measure.frames import pack_frames
from labs.measure.recording import Frame
from labs.models import (
    Attempt,
    AuditRow,
    BoardEntry,
    BoardName,
    Course,
    Enrolment,
    FrameStore,
    Grade,
    GradeEvent,
    JoinTry,
    Notice,
    RegradeSet,
    Role,
    Round,
    State,
    StoredRecording,
    Viewing,
)
from labs.models.audit import Verb
from labs.steps import all_steps
from tests.views.conftest import client_of
from tests.views.rows import STEP, attempt_in

# It stands in every text that a person, or somebody writing about them, could have left.
NAME = "김비밀Zq7"


@pytest.fixture(autouse=True)
def own_content_types() -> Iterator[None]:
    """Their cache outlives a test, and rows that a test made do not."""
    ContentType.objects.clear_cache()
    yield
    ContentType.objects.clear_cache()


@pytest.fixture
def course(db: None) -> Course:
    return Course.objects.create(slug="voice", title="Voice lab")


@pytest.fixture
def teacher(course: Course) -> User:
    user = User.objects.create_user("teacher", password="teacher-password")
    Enrolment.objects.create(user=user, course=course, role=Role.INSTRUCTOR)
    return user


@pytest.fixture
def student(course: Course, teacher: User) -> User:
    """With a trace in every table that there is."""
    user = User.objects.create_user(
        f"{NAME}@example.com", email=f"{NAME}@example.com", first_name=NAME, last_name=NAME
    )
    Enrolment.objects.create(user=user, course=course, number=NAME)
    attempt = attempt_in(State.GRADED, user, course)
    leave_words(user, course, attempt)
    with coming_from(Origin("203.0.113.7")):
        override(attempt, all_steps()[STEP], teacher, 5, f"{NAME} spoke")
        extend(course, user, None, Given(extra_attempts=2), f"{NAME} was ill", teacher)
        begin(course, user.pk, teacher)
        record(Verb.JOINED, user, course=course, whom=user)
        record(Verb.PASSWORD_SET, user, whom=user)
        record(Verb.CORRECTED, teacher, course=course, whom=user, name=f"x -> {NAME}")
        record(Verb.CHANGED, teacher, whom=user, what=f"user {NAME}", changes=[NAME])
    found = start(course, all_steps()[STEP], teacher, f"{NAME} complained", {})
    assert build(found) and apply(found, teacher)
    return user


def leave_words(user: User, course: Course, attempt: Attempt) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(reason_detail=NAME)
    Round.objects.filter(attempt=attempt, number=1).update(plan={"items": [], "lab_line": NAME})
    for round_ in Round.objects.filter(attempt=attempt):
        round_.challenge["x"] = round_.answers["text"] = NAME
        round_.save()
    stored = StoredRecording.objects.filter(run__attempt=attempt)[0]
    FrameStore.objects.filter(pk=stored.pk).update(blob=pack_frames([Frame(1, NAME.encode())]))
    for event in GradeEvent.objects.filter(attempt=attempt):
        for check in event.checks:
            check["evidence"] = {"saw": {"text": NAME}}
            check["reason"]["params"] = {"text": NAME, "n": 3}
        event.save()
    BoardName.objects.create(user=user, course=course, name=NAME)
    BoardEntry.objects.create(
        course=course,
        user=user,
        attempt=attempt,
        board="voice",
        comparable="x/1",
        value=900.5,
        detail={"prompt_n": 12, "note": NAME},
        is_first=True,
        counts=True,
    )
    freeze(course, "voice")
    Notice.objects.create(user=user, course=course, kind="verdict", details={"x": NAME})
    JoinTry.objects.create(user=user)
    for table in (AccessLog, AccessAttempt, AccessFailureLog):
        more = {"failures_since_start": 1, "post_data": NAME} if table is AccessAttempt else {}
        table.objects.create(username=user.username, ip_address="203.0.113.7", user_agent="x", **more)
    for of in (user, Enrolment.objects.get(user=user)):
        LogEntry.objects.create(
            user=User.objects.get(username="teacher"),
            content_type=ContentType.objects.get_for_model(of),
            object_id=str(of.pk),
            object_repr=str(of),
            action_flag=ADDITION,
            change_message=f'[{{"changed": "{NAME}"}}]',
        )


def end(course: Course, days_ago: float = 1) -> None:
    course.ends_at = timezone.now() - timedelta(days=days_ago)
    course.save()


def erase(course: Course) -> None:
    while erase_some(course):
        pass
    assert finish(course, by=None)


def readable(field: models.Field[Any, Any], value: Any) -> str:
    if isinstance(value, bytes | memoryview):
        raw = bytes(value)
        for start_at in range(min(len(raw), 16)):
            try:
                return raw.decode("utf-8", "replace") + zlib.decompress(raw[start_at:]).decode(
                    "utf-8", "replace"
                )
            except zlib.error:
                continue
        return raw.decode("utf-8", "replace")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def tables_with(words: str) -> set[str]:
    """Every column of every table of the site, read whole."""
    found = set()
    for model in apps.get_models():
        for row in model._default_manager.all():
            for field in model._meta.concrete_fields:
                if words in readable(field, getattr(row, field.attname)):
                    found.add(f"{model.__name__}.{field.name}")
    return found


def test_no_table_holds_a_word_of_the_person(course: Course, student: User) -> None:
    before = tables_with(NAME)
    assert len(before) > 25, "this sweep can tell"
    end(course)
    erase(course)
    assert tables_with(NAME) == set()
    assert tables_with("203.0.113.7") <= {"AuditRow.address"}
    assert set(AuditRow.objects.filter(address="203.0.113.7").values_list("by_login", flat=True)) == {
        "teacher"
    }
    assert not User.objects.filter(pk=student.pk).exists()


def test_grades_and_totals_stay_under_a_code_name(course: Course, student: User, teacher: User) -> None:
    (before,) = gradebook_of(course).lines
    hashes = sorted(GradeEvent.objects.values_list("evidence_hash", flat=True))
    verdicts = [[(c["key"], c["verdict"], c["points"]) for c in e.checks] for e in GradeEvent.objects.all()]
    end(course)
    erase(course)
    (after,) = gradebook_of(course).lines
    assert [cell.points for cell in after.cells] == [cell.points for cell in before.cells]
    assert after.total == before.total == Decimal(5)
    assert after.called.startswith("student-") and after.enrolment.number == ""
    assert sorted(GradeEvent.objects.values_list("evidence_hash", flat=True)) == hashes
    assert [
        [(c["key"], c["verdict"], c["points"]) for c in e.checks] for e in GradeEvent.objects.all()
    ] == verdicts
    ghost = after.user
    assert not ghost.is_active and not ghost.has_usable_password() and ghost.email == ghost.first_name == ""
    assert BoardEntry.objects.get().user == ghost and BoardEntry.objects.get().value == 900.5
    assert Viewing.objects.get().whom == ghost
    assert board_for(course, "voice", "class").rows == []
    # Its pages are there for the instructor still.
    attempt = Attempt.objects.get()
    for where in (f"/attempts/{attempt.pk}/", "/courses/voice/grades/", "/courses/voice/people/"):
        assert client_of(teacher).get(where).status_code == 200


def test_a_regrade_afterwards_changes_nothing(course: Course, student: User, teacher: User) -> None:
    end(course)
    erase(course)
    before = Grade.objects.get()
    found = start(course, all_steps()[STEP], teacher, "again", {})
    assert build(found) and apply(found, teacher)
    assert found.rows.get().kept == "nothing_recorded"
    after = Grade.objects.get()
    assert (after.event_id, after.automatic_id) == (before.event_id, before.automatic_id)


def test_it_is_in_the_audit_and_says_no_name(course: Course, student: User) -> None:
    end(course)
    erase(course)
    row = AuditRow.objects.filter(verb="erased").get()
    assert (row.course, row.details, row.by) == (course, {"students": 1}, None)
    course.refresh_from_db()
    assert course.erased_at is not None
    assert AuditRow.objects.filter(verb="points_given").get().details["points"] == 5


def test_who_takes_part_elsewhere_keeps_their_account_and_that_work(course: Course, student: User) -> None:
    other = Course.objects.create(slug="other", title="Other")
    Enrolment.objects.create(user=student, course=other, number=NAME)
    there = attempt_in(State.GRADED, student, other)
    end(course)
    erase(course)
    student.refresh_from_db()
    assert student.first_name == NAME
    there.refresh_from_db()
    assert there.user == student and there.rounds.exists() and Grade.objects.get(course=other).user == student
    assert not Attempt.objects.filter(user=student, course=course).exists()
    assert not Enrolment.objects.filter(user=student, course=course).exists()
    (line,) = gradebook_of(course).lines
    assert line.total == 5 and line.called.startswith("student-")
    # Nothing of the course leads to the account any more.
    for model in apps.get_app_config("labs").get_models():
        fields = {field.name: field for field in model._meta.concrete_fields}
        for name, field in fields.items():
            if "course" in fields and field.related_model is User:
                assert not model._default_manager.filter(course=course, **{name: student}).exists(), model


def test_staff_and_instructors_stay_who_they_are(course: Course, teacher: User) -> None:
    staff = User.objects.create_user("staff", is_staff=True)
    Enrolment.objects.create(user=staff, course=course)
    end(course)
    erase(course)
    assert User.objects.filter(username__in=["staff", "teacher"]).count() == 2
    assert Enrolment.objects.filter(user=teacher, course=course).exists()


def test_it_goes_on_where_it_was_stopped(course: Course) -> None:
    for number in range(3):
        user = User.objects.create_user(f"s{number}")
        Enrolment.objects.create(user=user, course=course)
    end(course)
    assert erase_some(course, 2) == 2
    assert not finish(course, by=None), "one has a name still"
    assert erase_some(course, 2) == 1 and erase_some(course, 2) == 0
    assert finish(course, by=None)
    assert not User.objects.exists() or set(User.objects.values_list("is_active", flat=True)) == {False}


def test_an_attempt_under_way_is_waited_for(course: Course, student: User) -> None:
    attempt = attempt_in(State.RUNNING, student, course, step_key="prefill", rounds=1)
    end(course)
    assert erase_some(course) == 0 and not finish(course, by=None)
    assert Round.objects.filter(attempt__user=student).exists()
    Attempt.objects.filter(pk=attempt.pk).update(state=State.CANCELLED)
    erase(course)


def test_an_open_regrade_is_dropped(course: Course, student: User, teacher: User) -> None:
    found = start(course, all_steps()[STEP], teacher, NAME, {})
    assert build(found)
    end(course)
    erase(course)
    assert RegradeSet.objects.get(pk=found.pk).state == "cancelled" and tables_with(NAME) == set()


@pytest.mark.parametrize(
    ("of_course", "of_site", "ended_days_ago", "is_due"),
    [
        (None, 0, 400, False),
        (None, 30, 29, False),
        (None, 30, 31, True),
        (10, 30, 11, True),
        (90, 30, 31, False),
        (0, 0, 0.001, True),
        (0, 0, -1, False),
    ],
)
def test_the_policy(
    of_course: int | None,
    of_site: int,
    ended_days_ago: float,
    is_due: bool,
    course: Course,
    settings: Settings,
) -> None:
    settings.LABHUB_ERASE_AFTER_DAYS = of_site
    course.erase_after_days = of_course
    end(course, ended_days_ago)
    assert list(due_courses(timezone.now())) == ([course] if is_due else [])


def test_without_an_end_nothing_is_ever_due(course: Course, settings: Settings) -> None:
    settings.LABHUB_ERASE_AFTER_DAYS = 1
    assert list(due_courses(timezone.now())) == []


def test_the_sweep_does_it_a_few_at_a_time_and_then_rests(course: Course, student: User) -> None:
    for number in range(6):
        Enrolment.objects.create(user=User.objects.create_user(f"s{number}"), course=course)
    sweep = Erasing()
    sweep.step()
    assert User.objects.filter(pk=student.pk).exists(), "nothing is due"
    end(course)
    Course.objects.update(erase_after_days=0)
    sweep = Erasing()
    for _ in range(4):
        sweep.step()
    course.refresh_from_db()
    assert course.erased_at is not None and tables_with(NAME) == set()
    assert list(due_courses(timezone.now())) == []
    late = User.objects.create_user("late")
    Enrolment.objects.create(user=late, course=course)
    assert list(due_courses(timezone.now())) == [course], "who was taken in afterwards is not forgotten"


def test_one_who_cannot_be_erased_keeps_nobody_waiting(course: Course, student: User) -> None:
    GradeEvent.objects.update(checks=[{"title": 5}])  # no version ever wrote such a one
    other = User.objects.create_user("other")
    Enrolment.objects.create(user=other, course=course)
    end(course)
    assert erase_some(course, students=1) == 1
    assert not User.objects.filter(pk=other.pk).exists() and User.objects.filter(pk=student.pk).exists()
    assert erase_some(course) == 0 and not finish(course, by=None)


def test_the_command_shows_first_and_then_does(course: Course, student: User) -> None:
    def said(*args: str) -> str:
        out = io.StringIO()
        call_command("erase", *args, stdout=out)
        return out.getvalue()

    assert said() == "No course is due.\n"
    with pytest.raises(CommandError, match="has not ended"):
        call_command("erase", "--course", "voice")
    with pytest.raises(CommandError, match="no course"):
        call_command("erase", "--course", "nowhere")
    end(course)
    before = tables_with(NAME)
    preview = said("--course", "voice", "--dry-run")
    frames = FrameStore.objects.count()
    assert f"{NAME}@example.com: 1 attempts, {frames} recordings with frames; account deleted" in preview
    assert tables_with(NAME) == before, "a preview changes nothing"
    assert said("--course", "voice").endswith("erased.\n")
    assert tables_with(NAME) == set()


def test_join_code_ends_with_the_course(course: Course, student: User) -> None:
    end(course)
    erase(course)
    Course.objects.update(join_code="ABCDEFGHJK", join_code_ends_at=timezone.now() + timedelta(days=1))
    with pytest.raises(Exception, match="No course has this code"):
        join(User.objects.create_user("new"), "ABCDEFGHJK")


def test_numbers_stay_and_every_text_goes() -> None:
    assert numbers_of({"a": [1, "x", None, {"b": "y", "c": 2.5}], "d": True}) == {
        "a": [1, GONE, None, {"b": GONE, "c": 2.5}],
        "d": True,
    }
