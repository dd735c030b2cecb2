from __future__ import annotations

from labs.live.waiting import waits_s


def test_the_first_of_an_idle_lab_waits_for_the_overhead_only() -> None:
    assert list(waits_s([10_000], [], 1)) == [(0, 2)]


def test_each_place_waits_for_all_before_it() -> None:
    assert list(waits_s([10_000, 5_000, 1_000], [], 1)) == [(0, 2), (10, 24), (15, 36)]


def test_what_runs_may_end_now_or_have_just_begun() -> None:
    assert list(waits_s([1_000], [10_000], 1)) == [(0, 24)]


def test_a_second_endpoint_shortens_the_wait() -> None:
    assert list(waits_s([10_000, 10_000, 10_000], [], 2)) == [(0, 2), (0, 2), (10, 24)]


def test_a_free_endpoint_beside_a_busy_one_is_taken_at_once() -> None:
    assert list(waits_s([1_000], [60_000], 2)) == [(0, 2)]


def test_runs_on_an_endpoint_that_went_down_count_against_what_is_left() -> None:
    assert list(waits_s([1_000], [10_000, 10_000], 1)) == [(0, 46)]
