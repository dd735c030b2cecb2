"""For pictures, in a site's own environment: `finish_lab()`, a student who has done every step, from the stored runs
of the model answers on a real server; and `build()`, a class in the middle of its lab.

Twenty people with names, who did as much as people do: most steps well, some wrong, a few that proved nothing, some
late or with more time. Figures differ from person to person, and are the same in every picture.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from labs.actions.board import call_me, enter, scores_of
from labs.actions.endpoint import pause
from labs.actions.join import draw_code
from labs.actions.override import override
from labs.actions.rules import Given, extend, set_rule
from labs.measure.frames import pack_frames
from labs.measure.recording import RunRecord, ServerFacts
from labs.models import (
    Attempt,
    Course,
    Endpoint,
    Enrolment,
    FrameStore,
    GradeEvent,
    Reason,
    Round,
    Run,
    State,
    StepRule,
)
from labs.rules.window import Late
from labs.steps import all_steps
from labs.steps.base import Score, Step
from labs.text import N_
from tests.steps.sse_sources import core
from tests.views.rows import attempt_in, example

NAMES = [
    ("강도윤", "dy.kang"),
    ("고서준", "sj.ko"),
    ("곽하준", "hj.kwak"),
    ("구지우", "jw.koo"),
    ("권예은", "ye.kwon"),
    ("나시우", "sw.na"),
    ("남지민", "jm.nam"),
    ("노현우", "hw.noh"),
    ("류수아", "sa.ryu"),
    ("문민서", "ms.moon"),
    ("민하은", "he.min"),
    ("배은우", "ew.bae"),
    ("백지호", "jh.baek"),
    ("서다은", "de.seo"),
    ("손준서", "js.son"),
    ("신소율", "sy.shin"),
    ("심유진", "yj.shim"),
    ("안태윤", "ty.ahn"),
    ("양가은", "ge.yang"),
    ("오선우", "sw.oh"),
]
STUDENT, REAL = "park", "model answers, on the real server"
TEACHER, DOMAIN = "choi", "univ.example"
# Who ended on a fault, whose points stay open, who is in the middle of something.
FAULTED, OPEN, WAITING, HERE_NOW = 7, (4, 11), (2, 9, 15), (5, 13)
WRITERS, COPIED = 6, (3, 5)  # that many handed in a sse.py, and these two the same one


@dataclass(frozen=True, slots=True)
class Person:
    place: int
    name: str
    latin: str

    @property
    def steps_done(self) -> int:
        """Nobody is last in everything: from four to all nine."""
        return 4 + (self.place * 5) % 6


PEOPLE = [Person(place, name, latin) for place, (name, latin) in enumerate(NAMES)]


@transaction.atomic
def finish_lab() -> None:
    """With the frames as they came, so that every figure and replay is a real one."""
    course, user, demo = Course.objects.get(), User.objects.get(username=STUDENT), Endpoint.objects.get()
    for step in all_steps().values():
        attempt = attempt_in(State.GRADED, user, course, step_key=step.key, kind=REAL)
        seen = example(step, REAL)
        for number, locked in enumerate(seen.values(), start=1):
            recordings = locked.run.recordings if locked.run else {}
            for key, recording in recordings.items():
                store = FrameStore.objects.filter(
                    recording__run__attempt=attempt, recording__run__number=number, recording__key=key
                )
                store.update(blob=pack_frames(recording.frames))
        enter(attempt, scores_of(step, seen))
    Run.objects.update(endpoint=demo)
    Endpoint.objects.exclude(pk=demo.pk).delete()


@transaction.atomic
def build() -> None:
    course, teacher, now = Course.objects.get(), User.objects.get(username=TEACHER), timezone.now()
    users = []
    for person in PEOPLE:
        user = User.objects.create_user(
            f"{person.latin}@{DOMAIN}",
            email=f"{person.latin}@{DOMAIN}",
            last_name=person.name[0],
            first_name=person.name[1:],
            password="a password" if person.place % 5 else None,
        )
        Enrolment.objects.create(user=user, course=course, number=f"2026{101 + person.place:04}")
        users.append(user)
    for person, user in zip(PEOPLE, users, strict=True):
        work(person, user, course, now)
    boards(users, course)
    call_me(users[1], course, "푸른 고래", hidden=False)
    call_me(users[8], course, "", hidden=True)
    rules(course, teacher, users, now)
    given = Attempt.objects.filter(user=users[3], step="prefill", state=State.GRADED).first()
    if given is not None:
        override(given, all_steps()["prefill"], teacher, 8, "구두로 설명했습니다.")
    Enrolment.objects.filter(user=users[19]).update(left_at=now - timedelta(days=3))
    servers()
    draw_code(course, 7, teacher)


def work(person: Person, user: User, course: Course, now: datetime) -> None:
    for number, step in enumerate(all_steps().values()):
        at = now - timedelta(days=6 - number * 0.6, minutes=37 * person.place)
        if number >= person.steps_done:
            break
        if step.key == "read-sse" and person.place >= WRITERS:
            continue
        kind = wrong_or_right(step, person.place + number)
        if person.place == FAULTED and number == person.steps_done - 1:
            attempt = attempt_in(
                State.ERRORED, user, course, step_key=step.key, reason=Reason.IDLE_TIMEOUT, charged=False
            )
        elif person.place in OPEN and step.key == "cache-reuse":
            attempt = attempt_in(State.GRADED, user, course, step_key=step.key, kind="inconclusive")
        else:
            attempt = attempt_in(State.GRADED, user, course, step_key=step.key, kind=kind)
        is_late = step.key == "first-token" and person.place % 6 == 1
        Attempt.objects.filter(pk=attempt.pk).update(
            created_at=at,
            submitted_at=at,
            changed_at=at,
            finished_at=at + timedelta(minutes=4),
            late_percent=20 if is_late else 0,
        )
        attempt.rounds.update(locked_at=at)
        took_s = 4 + number + (person.place * 7) % 5
        attempt.runs.update(started_at=at, ended_at=at + timedelta(seconds=took_s))
        GradeEvent.objects.filter(attempt=attempt).update(created_at=at + timedelta(minutes=4))
        if step.key == "read-sse" and person.place in COPIED:
            hand_in(attempt, core(), with_other_names=person.place == COPIED[1])
        if step.key == "prefill":
            guess_worse(attempt, person.place)
    if person.place in WAITING:
        attempt_in(State.QUEUED, user, course, step_key="barge-in", rounds=1)
    if person.place in HERE_NOW:
        attempt_in(State.OPEN, user, course, step_key="cache-break", rounds=1)


def wrong_or_right(step: Step, turn: int) -> str:
    """Every third attempt is wrong in some way, each in another."""
    wrong: Sequence[str] = [example.name for example in step.examples() if example.kind == "fail"]
    return wrong[turn % len(wrong)] if turn % 3 == 2 else "pass"


def hand_in(attempt: Attempt, source: str, *, with_other_names: bool) -> None:
    again = all_steps()["read-sse"].rerun
    assert again is not None
    text = source.replace("pieces", "found").replace("event", "message") if with_other_names else source
    text = text.replace('"found"', '"pieces"')  # the key of the answer keeps its name
    row = Round.objects.get(attempt=attempt, key=again.round)
    row.answers = {**row.answers, again.answer: text}
    row.save()


def guess_worse(attempt: Attempt, place: int) -> None:
    """By up to 13 percent, which the step's own limit lets pass: a narrower one tells them apart."""
    for row in attempt.rounds.all():
        if "twelve_ms" in row.answers:
            row.answers["twelve_ms"] = round(row.answers["twelve_ms"] * (1 + place * 5 % 14 / 100), 1)
            row.save()


def boards(users: Sequence[User], course: Course) -> None:
    """Beside those of the real runs, where the same server made any."""

    drawn = random.Random(7)
    real = Run.objects.filter(outcome=Run.Outcome.RECORDED, attempt__user__username="park").last()
    facts = real.facts["server"] if real else {"build": "b1", "model": "m", "n_ctx": 4096, "slots": 2}
    record = RunRecord({}, ServerFacts.from_json(facts))
    for user in users:
        cold = drawn.gauss(1010, 130)
        voice_n = drawn.randrange(250, 1200)
        scores = {
            "cache-reuse": Score(
                "ttft", round(cold, 1), {"warm_ms": round(drawn.gauss(26, 4), 1), "n": 243}, record
            ),
            "prefill": predictor(drawn, record),
            "voice-turn": Score(
                "voice",
                round(voice_n * 4.5 + 540, 1),
                {"prompt_n": voice_n, "sentence_tokens": 60, "opened_ms": round(drawn.gauss(420, 60), 1)},
                record,
            ),
        }
        for step_key, score in scores.items():
            attempt = Attempt.objects.filter(user=user, step=step_key, state=State.GRADED).first()
            if attempt is not None:
                enter(attempt, [score])


def predictor(drawn: random.Random, record: RunRecord) -> Score:

    fastest = round(drawn.gauss(1500, 40), 1)
    said = round(fastest * (1 + abs(drawn.gauss(0, 0.12))))
    return Score(
        "predictor", round(abs(said / fastest - 1) * 100, 1), {"said_ms": said, "fastest_ms": fastest}, record
    )


def rules(course: Course, teacher: User, users: Sequence[User], now: datetime) -> None:

    steps = all_steps()
    today = now.replace(hour=14, minute=59, second=0, microsecond=0)
    for number, step in enumerate(steps.values()):
        set_rule(
            StepRule(
                course=course,
                step=step.key,
                zone=course.zone,
                opens_at=today.replace(hour=0, minute=0) - timedelta(days=7),
                due_at=today + timedelta(days=number - 3),
                late=Late.REDUCED.value,
                late_percent_a_day=10,
                late_floor_percent=50,
                ends_at=today + timedelta(days=number + 4),
                holds_scores=step.key == "voice-turn",
                release_at=today + timedelta(days=9) if step.key == "voice-turn" else None,
                by=teacher,
            )
        )
    extend(course, users[6], steps["first-token"], Given(days=3), "병결(진단서 제출)", teacher)
    extend(course, users[10], None, Given(extra_attempts=2), "노트북 고장으로 두 번을 잃었습니다.", teacher)
    extend(course, users[14], steps["prefill"], Given(due_at=today + timedelta(days=5)), "학회 참석", teacher)


def servers() -> None:
    """The one that the worked examples name has a canary that failed; the other rests while its model is changed."""

    why = N_(
        "The identical repeat did not hit the cache (%(cache_n)s of %(n)s tokens), so a miss afterwards proves "
        "nothing.",
        cache_n=3,
        n=421,
    )
    green = {"green": True, "reason": None}
    canaries = {
        "slots": green,
        "content": green,
        "prefix": {"green": False, "reason": why.to_json()},
        "cancel": green,
    }
    Endpoint.objects.filter(name="ep-a").update(name="lab-2", canaries=canaries, has_red_canary=True)
    pause(Endpoint.objects.filter(name="demo"), "13시까지 모델을 바꿉니다.")
