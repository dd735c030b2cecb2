"""What one attempt at each step occupies an endpoint for: measured in the last runs, else as the steps declare it."""

from __future__ import annotations

from uuid import UUID

from labs.actions.openings import openings
from labs.live.waiting import ENOUGH_RUNS, MARGIN, OVERHEAD_MS, SLOW
from labs.measure.hour import StepTime
from labs.measure.stats import median, quantile
from labs.models import Course, Run, State
from labs.steps import all_steps
from labs.steps.base import Step

LAST_RUNS = 4000
LAST_ATTEMPTS = 40


def step_times() -> dict[str, StepTime]:
    """By step, in the lab's order. One query.

    The same bounds as the wait's: from so many measured ones on they count, and a little is added to what the slow
    ones took; a declared time may be twice as long.
    """
    took_ms = _measured_ms()
    return {key: _time(step, took_ms.get(key, [])) for key, step in all_steps().items()}


def _time(step: Step, took_ms: list[float]) -> StepTime:
    usual_ms, slow_ms = median(took_ms), quantile(took_ms, 0.9)
    if len(took_ms) >= ENOUGH_RUNS and usual_ms is not None and slow_ms is not None:
        return StepTime(step.key, usual_ms, slow_ms * MARGIN, len(took_ms), step.requires)
    besides_ms = OVERHEAD_MS * len(step.rounds)
    return StepTime(
        step.key, step.budget_ms + besides_ms, step.budget_ms * SLOW + besides_ms, after=step.requires
    )


def _measured_ms() -> dict[str, list[float]]:
    """Of the newest graded attempts, all their runs together: what was repeated took its time as well. Not of practice,
    which may have ended half-way."""
    whole = {"attempt__state": State.GRADED, "attempt__practice": False}
    rows = list(
        Run.objects.filter(**whole, ended_at__isnull=False, copy_of=None)
        .order_by("-pk")
        .values_list("attempt_id", "attempt__step", "started_at", "ended_at")[:LAST_RUNS]
    )
    sums: dict[str, dict[UUID, float]] = {}
    for attempt_id, step, started_at, ended_at in rows:
        assert ended_at is not None
        of_step = sums.setdefault(step, {})
        of_step[attempt_id] = of_step.get(attempt_id, 0.0) + (ended_at - started_at).total_seconds() * 1000
    if len(rows) == LAST_RUNS:  # the oldest may be there in part only
        sums[rows[-1][1]].pop(rows[-1][0])
    return {step: list(found.values())[:LAST_ATTEMPTS] for step, found in sums.items()}


def open_to(course: Course) -> int:
    """How many endpoints answer now that no other course has booked."""
    return len(openings().up_for(course.pk))
