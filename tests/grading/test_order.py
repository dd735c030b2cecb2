"""'It broke': integers only, with the control, at the border of each limit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labs.grading.order import Pair, break_fault
from labs.measure.recording import RunRecord
from tests.grading.recordings import ended, ids, run_of

A = ids((0, 280))
CHANGED = ids((0, 16), (900, 264))


@pytest.mark.parametrize(
    ("n", "lcp", "broke"),
    [(280, 16, True), (280, 56, True), (280, 57, False), (70, 6, True), (70, 7, False), (280, 280, False)],
)
def test_a_break_leaves_four_fifths_and_64_tokens_behind(n: int, lcp: int, broke: bool) -> None:
    assert Pair(n, lcp, n - lcp).broke is broke


@pytest.mark.parametrize(
    ("lcp", "prompt_n", "fine"), [(250, 32, True), (250, 33, False), (280, 1, True), (280, 4, False)]
)
def test_a_prompt_costs_what_stands_behind_the_prefix(lcp: int, prompt_n: int, fine: bool) -> None:
    assert Pair(280, lcp, prompt_n).computed_as_expected is fine


def run(control: int = 279, changed: int = 16, cold: int = 3, **facts: object) -> RunRecord:
    return run_of(
        ended("cold", A, cold), ended("control", A, control), ended("changed", CHANGED, changed), **facts
    )


def test_a_sane_run_has_no_fault_with_or_without_metrics() -> None:
    assert break_fault(run()) is None
    assert break_fault(run(metrics_agree=None)) is None


@pytest.mark.parametrize(
    ("case", "word"),
    [
        (run(control=0, changed=0), "reused only"),  # B4: the server re-reads an identical prompt
        (run(cold=279), "cold"),  # a host cache brought it back
        (run(changed=279), "elsewhere"),
        (run(changed=3), "reused only"),  # B6: somebody was there in between
        (run(metrics_agree=False), "Somebody else"),
        (run(foreign_tasks=1), "Somebody else"),
    ],
)
def test_a_sick_server_leaves_it_open(case: RunRecord, word: str) -> None:
    fault = break_fault(case)
    assert fault is not None
    assert word in str(fault.reason)


def test_a_template_that_prints_the_date_makes_the_control_miss() -> None:
    """B5: the repeat's own tokens differ, so its small `cache_n` is as expected, and still no control."""
    dated = ids((0, 3), (600, 277))
    record = run_of(ended("cold", A, 3), ended("control", dated, 3), ended("changed", CHANGED, 3))
    fault = break_fault(record)
    assert fault is not None
    assert "identical repeat" in str(fault.reason)


def test_the_control_must_be_on_the_same_slot() -> None:
    record = run()
    moved = replace(record["control"], slot=1)
    assert break_fault(replace(record, recordings={**record.recordings, "control": moved})) is not None
