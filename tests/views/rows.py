"""Rows as the engine leaves them, from a step's own worked example: answers, runs, recordings, checks."""

from __future__ import annotations

import uuid
from dataclasses import replace

from django.contrib.auth.models import User
from django.utils import timezone

from labs.actions.grade import record_grade
from labs.measure.frames import pack_frames
from labs.measure.recording import Frame, RunRecord
from labs.models import (
    Attempt,
    AttemptCount,
    Course,
    Endpoint,
    FrameStore,
    Round,
    Run,
    State,
    StoredRecording,
)
from labs.sheets import RUN_FACTS
from labs.steps import all_steps
from labs.steps.base import Seen, Step

STEP = "cache-break"
FRAME = b'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n'


def example(step: Step, name: str = "pass") -> Seen:
    """The first of that kind, or the one of that name."""
    return next(e for e in step.examples() if name in (e.kind, e.name)).seen()


def attempt_in(
    state: State,
    user: User,
    course: Course,
    *,
    kind: str = "pass",
    step_key: str = STEP,
    rounds: int | None = None,
    **fields: object,
) -> Attempt:
    """An attempt whose first `rounds` (or all) example rounds are recorded, and graded where the state says so."""
    step = all_steps()[step_key]
    seen = Seen(list(example(step, kind).items())[:rounds])
    attempt = Attempt.objects.create(
        user=user,
        course=course,
        step=step_key,
        step_version=step.version,
        seed_number=0,
        state=state,
        changed_at=timezone.now(),
        queued_at=timezone.now(),
        **fields,
    )
    AttemptCount.objects.get_or_create(course=course, user=user, step=step_key, defaults={"charged": 1})
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
        if locked.run is not None:
            row.accepted_run = stored(attempt, row, number, locked.run)
            row.save()
    if state == State.GRADED:
        record_grade(attempt, step, step.grade(seen))
    return attempt


def stored(attempt: Attempt, round_: Round, number: int, record: RunRecord) -> Run:
    endpoint, _made = Endpoint.objects.get_or_create(
        name="ep-a", defaults={"base_url": "http://127.0.0.1:1", "state": Endpoint.State.DOWN}
    )
    run = Run.objects.create(
        attempt=attempt,
        round=round_,
        number=number,
        endpoint=endpoint,
        token=number,
        worker="w",
        outcome=Run.Outcome.RECORDED,
        facts={"server": record.server.to_json(), **{name: getattr(record, name) for name in RUN_FACTS}},
        started_at=timezone.now(),
        ended_at=timezone.now(),
    )
    for position, (key, recording) in enumerate(record.recordings.items()):
        row = StoredRecording.objects.create(
            run=run, key=key, position=position, data=replace(recording, frames=()).to_json()
        )
        FrameStore.objects.create(recording=row, blob=pack_frames([Frame(1234, FRAME)]))
    return run
