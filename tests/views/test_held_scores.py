"""Until scores are released, nothing that a student can fetch depends on what the verdicts are."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from labs.actions.board import freeze
from labs.actions.override import override
from labs.actions.rules import release_scores
from labs.boards import board_for
from labs.grading.checks import Check
from labs.live.events import START
from labs.live.follower import Claim, Follower
from labs.live.outbox import Message
from labs.live.status import statuses
from labs.models import Attempt, BoardEntry, Course, GradeEvent, Run, State, StepRule
from labs.steps import all_steps
from tests.views.rows import STEP, attempt_in

MARKS = ["data-verdict", "check-points", "evidence-tables", 'id="history"', "hint-box", "your prediction"]


@pytest.fixture
def held(course: Course) -> StepRule:
    return StepRule.objects.create(course=course, step=STEP, zone=course.zone, holds_scores=True)


def addresses(attempt: Attempt) -> dict[str, str]:
    """All that an owner's browser fetches of an attempt and its step."""
    stored = Run.objects.get(attempt=attempt, number=1).recordings.first()
    assert stored is not None
    one = [attempt.pk, 1, stored.key]
    return {
        "home": reverse("home"),
        "step": reverse("step", args=[attempt.course.slug, STEP]),
        "attempt": reverse("attempt", args=[attempt.pk]),
        "panel": reverse("attempt-panel", args=[attempt.pk]),
        "panel of the step": reverse("attempt-panel", args=[attempt.pk]) + "?on=step",
        "events": reverse("attempt-events", args=[attempt.pk]),
        "frames": reverse("attempt-frames", args=one),
        "replay": reverse("attempt-replay", args=one),
    }


def read(client: Client, address: str) -> str:
    """But for what is random and for the clock."""
    answer = client.get(address)
    assert answer.status_code == 200
    return re.sub(
        r'name="(csrfmiddlewaretoken|submit_key)" value="[^"]*"|data-now="[^"]*"', "", answer.content.decode()
    )


def judge(attempt: Attempt, verdict: str) -> None:
    """As if the grader had found this of every check."""
    event = GradeEvent.objects.get(attempt=attempt, kind=GradeEvent.Kind.AUTO)
    checks = [
        check | {"verdict": verdict, "reason": {"msgid": f"It is {verdict}.", "params": {}}}
        for check in event.checks
    ]
    points = sum(check["points"] for check in checks)
    GradeEvent.objects.filter(pk=event.pk).update(
        checks=checks,
        points=points if verdict == "pass" else 0,
        open_points=points if verdict == "inconclusive" else 0,
    )


@pytest.mark.parametrize(
    "name", ["home", "step", "attempt", "panel", "panel of the step", "events", "frames", "replay"]
)
def test_no_bit_of_the_verdict_is_in_what_the_student_gets(
    name: str, attempt: Attempt, at_owner: Client, held: StepRule
) -> None:
    where = addresses(attempt)[name]
    pages = []
    for verdict in ("pass", "fail", "inconclusive"):
        judge(attempt, verdict)
        pages.append(read(at_owner, where))
    assert pages[0] == pages[1] == pages[2]
    for mark in MARKS:
        assert mark not in pages[0]
    for check in GradeEvent.objects.get().checks:
        shown = Check.from_json(check)
        assert str(shown.title) not in pages[0] and str(shown.reason) not in pages[0]
    held.delete()
    if name not in ("events", "frames", "replay"):
        judge(attempt, "pass")
        assert read(at_owner, where) != pages[0], "this comparison can tell"


class KeptOutbox:
    """What a socket would get."""

    full = False

    def __init__(self) -> None:
        self.said: list[bytes] = []

    def write(self, message: Message) -> None:
        self.said.append(message.payload)

    def close(self, code: int) -> None:
        raise AssertionError(code)


def test_nor_in_what_the_socket_says(attempt: Attempt, held: StepRule) -> None:
    """A socket sends states and, at the end, id and version; the page then asks the views above."""
    sockets = []
    for verdict in ("pass", "fail", "inconclusive"):
        judge(attempt, verdict)
        outbox = KeptOutbox()
        claim = Claim(attempt.user_id, attempt.user_id, attempt.course_id, "")
        follower = Follower(attempt.pk, claim, outbox, START)
        status = statuses([attempt.pk])[attempt.pk]
        follower.show(status)
        follower.finish(status.version)
        sockets.append(outbox.said)
    assert sockets[0] == sockets[1] == sockets[2]
    state, finished = map(json.loads, sockets[0])
    assert not {"points", "checks", "verdict"} & state.keys()
    assert finished == {"kind": "finished", "id": str(attempt.pk), "version": attempt.version}


def test_nor_between_two_rounds(owner: User, course: Course, at_owner: Client, held: StepRule) -> None:
    attempt = attempt_in(State.OPEN, owner, course, kind="fail", rounds=1)
    for name in ("step", "attempt", "panel", "panel of the step"):
        page = read(at_owner, addresses(attempt)[name])
        assert not [mark for mark in MARKS if mark in page]
    held.delete()
    assert "data-verdict" in read(at_owner, addresses(attempt)["step"])


def test_nor_in_points_that_an_instructor_gave(
    attempt: Attempt, member: User, at_owner: Client, held: StepRule
) -> None:
    where = addresses(attempt)
    before = {name: read(at_owner, where[name]) for name in ("home", "step", "attempt")}
    override(attempt, all_steps()[STEP], member, 7, "for the talk")
    assert {name: read(at_owner, where[name]) for name in before} == before


def test_the_student_sees_that_it_was_graded(attempt: Attempt, at_owner: Client, held: StepRule) -> None:
    page = read(at_owner, addresses(attempt)["step"])
    assert "It has been graded. Points and verdicts are shown once they are released." in page
    assert "Points and verdicts are shown once your instructor releases them." in page, "said before Run, too"
    home = read(at_owner, addresses(attempt)["home"])
    assert "Graded, not released yet" in home and "some are not released yet" in home


@pytest.mark.parametrize("name", ["attempt", "panel"])
def test_the_instructor_sees_all(name: str, attempt: Attempt, at_member: Client, held: StepRule) -> None:
    page = read(at_member, addresses(attempt)[name])
    assert "data-verdict" in page and "evidence-tables" in page


def test_all_is_there_once_it_is_released(
    attempt: Attempt, course: Course, member: User, at_owner: Client, held: StepRule
) -> None:
    release_scores(course, all_steps()[STEP], member)
    for name in ("step", "attempt"):
        assert "data-verdict" in read(at_owner, addresses(attempt)[name])


@pytest.mark.parametrize(("after", "is_shown"), [(timedelta(hours=-1), True), (timedelta(hours=1), False)])
def test_a_release_comes_by_itself_at_its_time(
    after: timedelta, is_shown: bool, attempt: Attempt, at_owner: Client, held: StepRule
) -> None:
    StepRule.objects.update(release_at=timezone.now() + after)
    assert ("data-verdict" in read(at_owner, addresses(attempt)["step"])) is is_shown


def test_a_repeat_of_an_inconclusive_run_is_a_run_like_any_other(
    attempt: Attempt, at_owner: Client, held: StepRule
) -> None:
    Run.objects.filter(attempt=attempt).update(outcome=Run.Outcome.INCONCLUSIVE)
    assert "inconclusive" not in read(at_owner, addresses(attempt)["attempt"])


@pytest.mark.parametrize("is_frozen", [False, True])
def test_nor_on_a_board(
    is_frozen: bool, attempt: Attempt, course: Course, member: User, held: StepRule
) -> None:
    """Page, fragment, projector and socket all draw `board_for`."""
    BoardEntry.objects.create(
        course=course,
        user=attempt.user,
        attempt=attempt,
        board="voice",
        comparable="x/1",
        value=900.0,
        detail={},
        is_first=True,
        counts=True,
    )
    if is_frozen:
        freeze(course, "voice")
    hidden = board_for(course, "voice", "class")
    assert (len(hidden.rows), len(hidden.standing.places), hidden.standing.median) == (0, 0, None)
    assert len(board_for(course, "voice", "staff").rows) == 1
    release_scores(course, all_steps()[STEP], member)
    shown = board_for(course, "voice", "class")
    assert len(shown.rows) == 1
    assert shown.version > hidden.version, "sockets are told"
