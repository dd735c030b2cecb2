"""Many stored attempts of one step, from its worked examples, as the engine would have left them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle, islice
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from labs.actions.grade import event_fields
from labs.measure.frames import pack_frames
from labs.models import (
    Attempt,
    Course,
    Endpoint,
    Enrolment,
    FrameStore,
    Grade,
    GradeEvent,
    Round,
    Run,
    State,
    StoredRecording,
)
from labs.sheets import RUN_FACTS
from labs.steps import all_steps
from labs.steps.base import Seen, Step

AT_ONCE = 200

# An example's rounds, and what its grade event stores.
Graded = tuple[Seen, dict[str, Any]]


def make_world(step_key: str, attempts: int, students: int) -> Course:
    course = Course.objects.create(slug="bench", title="Bench")
    endpoint = Endpoint.objects.create(name="bench", base_url="http://127.0.0.1:1")
    users = User.objects.bulk_create(User(username=f"student-{i:04}") for i in range(students))
    Enrolment.objects.bulk_create(Enrolment(user=user, course=course) for user in users)
    step = all_steps()[step_key]
    graded = [(seen, event_fields(step.grade(seen))) for seen in (e.seen() for e in step.examples())]
    pairs = islice(zip(cycle(users), _shifted(graded, students), strict=False), attempts)
    while chunk := list(islice(pairs, AT_ONCE)):
        with transaction.atomic():
            for user, (seen, fields) in chunk:
                _attempt(course, endpoint, user, step, seen, fields)
    _point_at_best(course, step)
    return course


def _shifted(examples: list[Graded], students: int) -> Iterator[Graded]:
    """Another example at each turn. Every third student never sees the one that earns all, so that some lose."""
    most = max(fields["points"] for _seen, fields in examples)
    worse = [example for example in examples if example[1]["points"] < most]
    turn = 0
    while True:
        for i in range(students):
            among = examples if i % 3 else worse
            yield among[(i + turn) % len(among)]
        turn += 1


def _attempt(
    course: Course, endpoint: Endpoint, user: User, step: Step, seen: Seen, fields: dict[str, Any]
) -> None:
    now = timezone.now()
    attempt = Attempt.objects.create(
        course=course,
        user=user,
        step=step.key,
        step_version=step.version,
        seed_number=0,
        state=State.GRADED,
        changed_at=now,
        finished_at=now,
    )
    upto = Seen()
    for number, (key, locked) in enumerate(seen.items(), start=1):
        plan = step.round(key).plan(locked.challenge, locked.answers, upto)
        upto[key] = locked
        row = Round.objects.create(
            attempt=attempt,
            number=number,
            key=key,
            submit_key=uuid.uuid4(),
            challenge=locked.challenge,
            answers=locked.answers,
            plan=plan.to_json() if plan else None,
        )
        if (record := locked.run) is None:
            continue
        facts = {"server": record.server.to_json(), **{name: getattr(record, name) for name in RUN_FACTS}}
        run = Run.objects.create(
            attempt=attempt,
            round=row,
            number=number,
            endpoint=endpoint,
            token=number,
            worker="bench",
            outcome=Run.Outcome.RECORDED,
            facts=facts,
            started_at=now,
            ended_at=now,
        )
        Round.objects.filter(pk=row.pk).update(accepted_run=run)
        for position, (name, recording) in enumerate(record.recordings.items()):
            stored = StoredRecording.objects.create(
                run=run, key=name, position=position, data=replace(recording, frames=()).to_json()
            )
            if recording.frames:
                FrameStore.objects.create(recording=stored, blob=pack_frames(recording.frames))
    GradeEvent.objects.create(attempt=attempt, step_version=step.version, **fields)


def _point_at_best(course: Course, step: Step) -> None:
    best: dict[int, tuple[int, int]] = {}
    events = GradeEvent.objects.order_by("pk").values_list("attempt__user_id", "points", "pk")
    for user_id, points, pk in events.iterator():
        if user_id not in best or points > best[user_id][0]:
            best[user_id] = (points, pk)
    Grade.objects.bulk_create(
        Grade(course=course, user_id=user_id, step=step.key, event_id=pk)
        for user_id, (_points, pk) in best.items()
    )
