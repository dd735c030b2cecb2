"""'The cache broke' is claimed only where an identical repeat hit (cases B4 and B6)."""

from __future__ import annotations

import pytest

from labs.grading.checks import Verdict
from labs.grading.order import break_fault
from labs.grading.sane import alone, first_fault, hit, served
from labs.steps import all_steps
from labs.steps.base import Step
from labs.steps.examples import play
from labs.steps.examples.server import SANE, ModelServer
from tests.grading.recordings import ended, ids, run_of

P = ids((0, 1200))
CHANGED = ids((0, 3), (9_000, 1197))


def test_a_server_that_reads_the_same_prompt_anew_breaks_nobodys_cache() -> None:
    """B4: `cache_n` 0 and `prompt_n` 1200, three times."""
    fault = break_fault(run_of(ended("cold", P, 0), ended("control", P, 0), ended("changed", CHANGED, 0)))
    assert fault is not None
    assert not fault.disturbed
    assert "does not reuse" in str(fault.reason)


@pytest.mark.parametrize(
    "step", [s for s in all_steps().values() if "prefix" in s.needs], ids=lambda s: s.key
)
def test_no_step_about_the_cache_fails_or_passes_it_on_such_a_server(step: Step) -> None:
    """The whole kind: what the cache decides is open, and what a student said of other things still counts."""
    assert all(check.verdict is Verdict.PASS for check in step.grade(play(step, SANE)))
    sick = step.grade(play(step, ModelServer(reuses=False)))
    assert Verdict.FAIL not in {check.verdict for check in sick}
    assert Verdict.INCONCLUSIVE in {check.verdict for check in sick}


def test_a_repeat_on_another_slot_is_no_control() -> None:
    """B6b: P on slot 0, X on slot 0, P on slot 1. The empty slot's miss says nothing of the cache."""
    first, other = ended("cold", P[:290], 0), ended("x", ids((5_000, 290)), 0)
    repeat = ended("control", P[:290], 0, slot=1)
    assert (repeat.figures.cache_n, repeat.figures.prompt_n) == (0, 290)
    changed = ended("changed", CHANGED[:290], 3, slot=1)
    assert break_fault(run_of(first, repeat, changed)) is not None
    assert hit(repeat) is not None
    found = served(repeat, other, run_of(first, other, repeat))
    assert found is not None
    assert "same slot" in str(found.reason)


def test_a_task_that_is_not_ours_between_two_asks_disturbs_the_run() -> None:
    """B6c: the counters of the two asks look well, and still nothing is claimed."""
    pair = ended("cold", P, 0), ended("control", P, 1199)
    assert first_fault(alone(run_of(*pair))) is None
    for seen in (run_of(*pair, foreign_tasks=1), run_of(*pair, metrics_agree=False)):
        fault = alone(seen)
        assert fault is not None
        assert fault.disturbed
