"""Runs that a CPU quota stopped: what rests on counters still holds, what rests on times is left open."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labs.grading.checks import Verdict
from labs.steps.base import Seen, Step
from tests.steps.playing import with_run
from tests.steps.test_recorded import STEPS, by_key, each_step, model_answers

STOPPED = {"run_us": 1_000_000, "cores": 1, "server": {"periods": 9, "stopped_us": 400_000}}
# By step: the checks that compare times.
TIMES = {
    "first-token": {"predicted", "queued", "wait", "prefill", "rest", "unknown"},
    "prefill": {"guessed", "line", "prediction", "measured", "per-document"},
}


def stopped(step: Step) -> Seen:
    seen = model_answers(step)
    for key, row in list(seen.items()):
        if row.run is not None:
            seen = with_run(seen, key, replace(row.run, throttled=STOPPED))
    return seen


@each_step
def test_only_what_compares_times_is_left_open(step: Step) -> None:
    found = by_key(step, stopped(step))
    left_open = {key for key, check in found.items() if check.verdict is Verdict.INCONCLUSIVE}
    assert left_open == TIMES.get(step.key, set())
    assert all(found[key].disturbed and "CPU limit" in str(found[key].reason) for key in left_open)
    assert {check.verdict for key, check in found.items() if key not in left_open} <= {Verdict.PASS}


@pytest.mark.parametrize("key", ["cache-reuse", "prefill", "voice-turn"])
def test_no_board_ranks_a_time_of_such_a_run(key: str) -> None:
    step = STEPS[key]
    assert [score.board for score in step.scores(model_answers(step))]
    scores = list(step.scores(stopped(step)))
    assert [(score.board, score.detail["opened_ms"]) for score in scores] == (
        [("voice", None)] if key == "voice-turn" else []
    )
