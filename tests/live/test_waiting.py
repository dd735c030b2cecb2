from __future__ import annotations

import pytest

from labs.live.waiting import Pace, guessed_pace, measured_pace, waits_s


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


def test_few_measured_runs_say_nothing() -> None:
    assert measured_pace([(1000.0, 9000.0)] * 7) == Pace()


def test_what_was_measured_replaces_what_was_declared() -> None:
    took_ms = [1000 + 100 * number for number in range(11)]
    pace = measured_pace([(1000.0, float(ms)) for ms in took_ms])
    assert pace.fast == pytest.approx(1.1)
    assert pace.slow == pytest.approx(1.9 * 1.25)
    assert list(waits_s([10_000, 10_000], [], 1, pace))[1] == (11, 28)


def test_a_plan_that_costs_nothing_is_no_measure() -> None:
    assert measured_pace([(0.0, 300.0)] * 20) == Pace()


def test_before_anything_ran_the_endpoints_known_speed_is_the_guess() -> None:
    assert guessed_pace([]) == Pace()
    assert guessed_pace([4.5]) == Pace(1.0, 2.0)
    guess = guessed_pace([2.25, 9.0])
    assert guess == Pace(0.5, 4.0)
    assert measured_pace([(1000.0, 9000.0)] * 7, guess) == guess
    assert list(waits_s([10_000, 10_000], [], 1, guess))[1] == (5, 44)
