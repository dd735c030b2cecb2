"""The server layer: every way in which a run proves nothing, and the border of each rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labs.grading import sane
from labs.measure.recording import Figures
from tests.grading.recordings import ended, ids, run_of

A = ids((0, 100))
FRONT_CHANGED = ids((0, 10), (500, 90))


def test_a_stranger_disturbs_whether_the_counters_or_the_slots_show_it() -> None:
    for run in (run_of(metrics_agree=False), run_of(foreign_tasks=1, metrics_agree=None)):
        fault = sane.alone(run)
        assert fault is not None
        assert fault.disturbed
    assert sane.alone(run_of()) is None
    assert sane.alone(run_of(metrics_agree=None)) is None


def test_an_ask_that_slots_never_showed_is_not_ours() -> None:
    assert sane.ours(ended("a", A, 0)) is None
    assert sane.ours(replace(ended("a", A, 0), id_task=None)) is not None


@pytest.mark.parametrize(("prompt_n", "fine"), [(60, True), (59, False), (61, False)])
def test_an_ended_ask_counts_exactly_its_prompt(prompt_n: int, fine: bool) -> None:
    assert (sane.whole(ended("a", A, 40, prompt_n=prompt_n)) is None) is fine


def test_an_ask_without_final_counters_did_not_end_by_itself() -> None:
    assert (
        sane.whole(replace(ended("a", A, 0), figures=Figures(end="cut", cache_n=0, prompt_n=100))) is not None
    )


@pytest.mark.parametrize(("cache_n", "fine"), [(0, True), (3, True), (5, True), (6, False), (99, False)])
def test_cold_finds_the_template_head_and_two_more_at_most(cache_n: int, fine: bool) -> None:
    assert (sane.cold(ended("a", A, cache_n), run_of()) is None) is fine


def test_cold_without_a_known_head_still_tells_a_cache_from_a_head() -> None:
    assert sane.cold(ended("a", A, 34), run_of(head_tokens=None)) is None
    assert sane.cold(ended("a", A, 99), run_of(head_tokens=None)) is not None


@pytest.mark.parametrize(("cache_n", "fine"), [(99, True), (97, True), (96, False), (0, False)])
def test_the_control_hits_but_for_its_last_token(cache_n: int, fine: bool) -> None:
    assert (sane.hit(ended("b", A, cache_n)) is None) is fine


@pytest.mark.parametrize(
    ("prompt", "cache_n", "fine"),
    [
        (A, 99, True),
        (A, 97, True),
        (A, 96, False),  # a miss
        (FRONT_CHANGED, 10, True),
        (FRONT_CHANGED, 8, True),
        (FRONT_CHANGED, 7, False),
        (FRONT_CHANGED, 16, True),  # 10 shared, 4 written there, 2 of slack
        (FRONT_CHANGED, 17, False),  # from elsewhere
    ],
)
def test_the_cache_serves_what_the_slot_held_last(prompt: tuple[int, ...], cache_n: int, fine: bool) -> None:
    assert (sane.served(ended("b", prompt, cache_n), ended("a", A, 0), run_of()) is None) is fine


def test_the_written_answer_can_be_part_of_the_next_prompt() -> None:
    before = replace(ended("a", A, 0), generated_ids=(700, 701, 702))
    longer = ended("b", (*A, 700, 701, 702, 703), 103)
    assert sane.served(longer, before, run_of()) is None
    assert sane.served(longer, replace(before, generated_ids=(800,)), run_of()) is not None


def test_another_slot_holds_another_prompt() -> None:
    assert sane.served(ended("b", A, 99, slot=1), ended("a", A, 0), run_of()) is not None


def test_a_miss_without_metrics_says_that_nobody_can_tell() -> None:
    fault = sane.served(ended("b", A, 0), ended("a", A, 0), run_of(metrics_agree=None))
    assert fault is not None
    assert "/metrics" in str(fault.reason)


def test_the_cache_switched_off_means_off() -> None:
    assert sane.uncached(ended("a", A, 0)) is None
    assert sane.uncached(ended("a", A, 3)) is not None
