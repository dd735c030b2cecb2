"""Show a finished run to the whole class, and take it away again."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from labs.actions.audit import record
from labs.actions.errors import Refused
from labs.actions.storable import storable
from labs.models import Course, DemoRun, FrameStore, Run
from labs.models.audit import Verb
from labs.text import N_

LONGEST_NOTE = 200


def shown_run(course: Course, step: str) -> DemoRun | None:
    """What the class may watch at the step now. One query."""
    return _shown(course, step).select_related("run__round").first()


def is_any_shown(course: Course, step: str) -> bool:
    """Whether the class may watch one at the step now. One query, and a cheaper one: every page of a step asks."""
    return _shown(course, step).exists()


def show(run: Run, note: str, by: User) -> DemoRun:
    """In the place of the one that its step shows now. Raises Refused where there is nothing to watch."""
    course, step = run.attempt.course, run.attempt.step
    if run.ended_at is None or not FrameStore.objects.filter(recording__run=run).exists():
        raise Refused(N_("Of this run no stream is kept, so there is nothing to watch."))
    try:
        with transaction.atomic():
            _end(course, step)
            demo = DemoRun.objects.create(
                course=course, step=step, run=run, note=storable(note.strip())[:LONGEST_NOTE], by=by
            )
            record(Verb.SHOWN, by, course=course, what=step, attempt=str(run.attempt_id), run=run.number)
    except IntegrityError as error:
        raise Refused(
            N_("Somebody else showed another run in this moment. Look at the step's page.")
        ) from error
    return demo


def withdraw(course: Course, step: str, by: User) -> bool:
    """False where nothing is shown."""
    with transaction.atomic():
        ended = _end(course, step)
        if ended:
            record(Verb.WITHDRAWN, by, course=course, what=step)
    return ended


def _end(course: Course, step: str) -> bool:
    return bool(_shown(course, step).update(withdrawn_at=Now()))


def _shown(course: Course, step: str) -> QuerySet[DemoRun]:
    """At most one."""
    return DemoRun.objects.filter(course=course, step=step, withdrawn_at=None)
