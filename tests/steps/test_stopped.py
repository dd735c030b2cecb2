"""Runs that a CPU quota stopped: what rests on counters still holds, what rests on times is left open."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from labs.grading.checks import Verdict
from labs.steps.base import Seen, Step
from tests.steps.playing import with_run
from tests.steps.test_recorded import STEPS, answered, by_key, each_step, model_answers
from tests.steps.wrong_answers import WRONG

STOPPED = {"run_us": 1_000_000, "cores": 1, "server": {"periods": 9, "stopped_us": 400_000}}
# By step and round whose run was stopped: the checks that compare its times.
TIMES = {
    ("first-token", "predict"): {"predicted"},
    ("first-token", "mark"): {"queued", "wait", "prefill", "rest", "unknown"},
    ("prefill", "small"): {"guessed", "line", "prediction", "per-document"},
    ("prefill", "large"): {"measured", "per-document"},
}
RUNS = [(step.key, key) for step in STEPS.values() for key, row in model_answers(step).items() if row.run]


def stopped(seen: Seen, rounds: Collection[str]) -> Seen:
    for key in rounds:
        seen = with_run(seen, key, replace(seen.run_of(key), throttled=STOPPED))
    return seen


@pytest.mark.parametrize(("step_key", "round_key"), RUNS)
def test_only_what_compares_times_is_left_open(step_key: str, round_key: str) -> None:
    step = STEPS[step_key]
    found = by_key(step, stopped(model_answers(step), [round_key]))
    left_open = {key for key, check in found.items() if check.verdict is Verdict.INCONCLUSIVE}
    assert left_open == TIMES.get((step_key, round_key), set())
    assert all(found[key].disturbed and "CPU limit" in str(found[key].reason) for key in left_open)
    assert {check.verdict for key, check in found.items() if key not in left_open} <= {Verdict.PASS}


@each_step
def test_a_wrong_answer_fails_or_is_left_open_but_never_passes(step: Step) -> None:
    times = {
        check for (step_key, _round), checks in TIMES.items() if step_key == step.key for check in checks
    }
    for wrong in (wrong for wrong in WRONG if wrong.step == step.key):
        seen = answered(step, wrong)
        seen = stopped(seen, [key for key, row in seen.items() if row.run])
        expected = Verdict.INCONCLUSIVE if wrong.check in times else Verdict.FAIL
        assert by_key(step, seen)[wrong.check].verdict is expected, wrong.name


@pytest.mark.parametrize(("step_key", "round_key"), RUNS)
def test_no_board_ranks_what_rests_on_a_time_of_such_a_run(step_key: str, round_key: str) -> None:
    step = STEPS[step_key]
    boards = {score.board for score in step.scores(model_answers(step))}
    scores = {score.board: score for score in step.scores(stopped(model_answers(step), [round_key]))}
    if (step_key, round_key) == ("voice-turn", "design"):
        assert scores["voice"].detail["opened_ms"] is None, (
            "ranked by counts; the time beside them is left out"
        )
    elif (step_key, round_key) in {("cache-reuse", "again"), ("prefill", "small"), ("prefill", "large")}:
        assert boards and not scores
    else:
        assert set(scores) == boards
