"""Looking at one check of a played step, and changing one run of it."""

from __future__ import annotations

from dataclasses import replace

from labs.grading.checks import Check
from labs.measure.recording import Recording, RunRecord
from labs.steps.base import RoundSeen, Seen, Step


def check(step: Step, seen: Seen, key: str) -> Check:
    return next(found for found in step.grade(seen) if found.key == key)


def with_run(seen: Seen, round_key: str, run: RunRecord) -> Seen:
    row = seen[round_key]
    return Seen({**seen, round_key: RoundSeen(row.key, row.challenge, row.answers, run)})


def with_recordings(seen: Seen, round_key: str, *changed: Recording) -> Seen:
    """The same but for these recordings of one round's run."""
    run = seen.run_of(round_key)
    recordings = {**run.recordings, **{recording.key: recording for recording in changed}}
    return with_run(seen, round_key, replace(run, recordings=recordings))
