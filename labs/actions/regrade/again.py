"""One attempt graded again, from what is stored. Nothing is executed, and a fault of ours never gives zero."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet

from labs.actions.board import enter, scores_of
from labs.actions.storable import storable
from labs.grading.checks import Check
from labs.grading.limits import Limits
from labs.measure.frames import ABSENT, FramesAbsent
from labs.measure.recording import Frame
from labs.models import (
    AUTOMATIC,
    Attempt,
    FrameStore,
    GradeEvent,
    Reason,
    RegradeRow,
    Run,
    State,
    StoredRecording,
)
from labs.sheets import kept_frames, record_of, seen_round
from labs.steps.base import Seen, Step

log = logging.getLogger(__name__)

Kept = RegradeRow.Kept


@dataclass(frozen=True, slots=True)
class Again:
    """New checks, or why there are none (`kept`)."""

    checks: list[Check]
    kept: RegradeRow.Kept = Kept.NO
    detail: str = ""


def regradable(course_id: int, step_key: str) -> QuerySet[Attempt]:
    """Graded attempts, and those whose grading stopped on a fault of ours."""
    return (
        Attempt.objects.for_grade()
        .filter(course_id=course_id, step=step_key)
        .filter(Q(state=State.GRADED) | Q(state=State.ERRORED, reason=Reason.GRADER_ERROR))
    )


def with_recordings(attempts: QuerySet[Attempt]) -> QuerySet[Attempt]:
    """All that grading again reads, in a few queries. Frames stay where they are: few rules look at them."""
    recordings = StoredRecording.objects.annotate(
        has_frames=Exists(FrameStore.objects.filter(pk=OuterRef("pk")))
    )
    runs = Run.objects.prefetch_related(Prefetch("recordings", recordings))
    events = GradeEvent.objects.filter(kind__in=AUTOMATIC).defer("checks").order_by("created_at", "pk")
    return attempts.prefetch_related(
        "rounds", Prefetch("runs", runs), Prefetch("grade_events", events, to_attr="automatic_events")
    )


def grade_again(attempt: Attempt, step: Step, limits: Limits) -> Again:
    """`attempt` comes from `with_recordings`."""
    if not attempt.rounds.all():  # erased with the rest of the student's words
        return Again([], Kept.NOTHING_RECORDED)
    try:
        try:
            checks = step.grade(_seen(attempt, lambda stored: ABSENT), limits)
        except FramesAbsent:
            checks = step.grade(_seen(attempt, _frames_of), limits)
    except FramesAbsent:
        return Again([], Kept.FRAMES_PURGED)
    except Exception as error:  # listed, and what was earned stays
        log.exception("grading %s again failed", attempt)
        return Again([], Kept.GRADER_ERROR, storable(repr(error)[:300]))
    return Again(checks) if checks else Again([], Kept.NOTHING_RECORDED)


def enter_rescued(attempt: Attempt, step: Step) -> None:
    """Onto its boards, now that a regrade gave it the grade that a fault of ours had kept from it. Inside a
    transaction; `attempt` comes from `with_recordings`."""
    seen = _seen(attempt, lambda stored: ABSENT)
    if len(seen) == len(step.rounds):
        enter(attempt, scores_of(step, seen))


def _seen(attempt: Attempt, frames: Callable[[StoredRecording], tuple[Frame, ...]]) -> Seen:
    runs = {run.pk: run for run in attempt.runs.all()}
    stopped = [run for run in runs.values() if run.reason == Reason.GRADER_ERROR]
    seen = Seen()
    for round_ in attempt.rounds.all():
        # A run whose grading stopped was never accepted, but it is what the student did.
        run = runs.get(round_.accepted_run_id or 0) or next(
            (run for run in reversed(stopped) if run.round_id == round_.pk), None
        )
        seen[round_.key] = seen_round(round_, record_of(run, frames) if run else None)
    return seen


def _frames_of(stored: StoredRecording) -> tuple[Frame, ...]:
    if vars(stored)["has_frames"]:
        return kept_frames(stored)
    figures = stored.data["figures"]
    came = figures["pieces"] or figures["headers_us"] is not None
    # Without purged frames a rule would judge an answer that nobody gave.
    return ABSENT if came else ()
