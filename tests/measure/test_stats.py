"""Statistics against values worked out by hand, and against the standard library or plain enumeration."""

from __future__ import annotations

import itertools
import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.measure.ranking import board_order, ranks, shown_value
from labs.measure.stats import (
    Interval,
    Line,
    line_through_minima,
    median,
    median_interval,
    minimum,
    quantile,
)

NUMBERS = st.lists(st.integers(-1_000_000, 1_000_000).map(lambda n: n / 64), min_size=1, max_size=30)


def test_of_nothing_is_nothing_and_never_zero() -> None:
    assert minimum([]) is median([]) is quantile([], 0.9) is None
    assert median_interval([]) is median_interval([3.0]) is None


def test_quantiles_by_hand() -> None:
    values = [40.0, 10.0, 30.0, 20.0]
    assert (minimum(values), median(values)) == (10.0, 25.0)
    assert (quantile(values, 0), quantile(values, 1)) == (10.0, 40.0)
    assert quantile(values, 0.9) == pytest.approx(37.0)  # place 2.7: 30 and seven tenths of the way to 40
    assert quantile([7.0], 0.9) == 7.0
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantile(values, 90)


@given(NUMBERS)
def test_median_and_quantiles_agree_with_the_standard_library(values: list[float]) -> None:
    assert median(values) == statistics.median(values)
    if len(values) > 1:
        ours = [quantile(values, i / 20) for i in range(1, 20)]
        assert ours == pytest.approx(statistics.quantiles(values, n=20, method="inclusive"))


def test_the_median_interval_by_hand() -> None:
    # 2 * (1/2)^5 lie outside of five; of ten, 2 * (1 + 10) / 1024 outside of the second to the ninth.
    assert median_interval([5.0, 1.0, 4.0, 2.0, 3.0]) == Interval(1.0, 5.0, 0.9375)
    assert median_interval(range(1, 11)) == Interval(2, 9, 1 - 22 / 1024)
    assert median_interval([1.0, 2.0, 3.0]) == Interval(1.0, 3.0, 0.75)
    assert median_interval([1.0, 2.0, 3.0], coverage=0.2) == Interval(1.0, 3.0, 0.75)


@pytest.mark.parametrize("n", range(2, 13))
def test_the_coverage_is_that_of_all_ways_to_fall_about_the_median(n: int) -> None:
    """Every value lies below or above the true median with equal chance: try all 2^n."""
    interval = median_interval(range(n))
    assert interval is not None
    low, high = int(interval.low), int(interval.high)
    held = sum(
        # With `below` values under the median, it lies between order statistics below - 1 and below.
        low < below <= high
        for below in (sum(sides) for sides in itertools.product((0, 1), repeat=n))
    )
    assert interval.coverage == held / 2**n
    assert interval.coverage >= 0.95 or (low, high) == (0, n - 1)


def test_the_line_goes_through_the_fastest_repeat_of_each_size() -> None:
    # 0 and 4 documents of lab.md 4 with foreign load in two repeats; 4.5 ms a token and 6.5 ms at none.
    small = [(35, 164.0), (36, 6_649.0), (35, 171.0)]
    large = [(160, 4_235.0), (160, 726.5), (161, 793.0)]
    line = line_through_minima(small, large)
    assert line == Line(slope=4.5, intercept=6.5)
    assert line.at(420) == 1_896.5
    assert line_through_minima(small, [(35, 1.0)]) is None, "one size makes no line"
    assert line_through_minima(small, []) is None


def test_ties_share_a_rank_and_unknown_is_last_and_unranked() -> None:
    values = [0.4, None, 0.25, 0.250_000_01, 0.1, math.nan]
    assert ranks(values) == [4, None, 2, 2, 1, None]
    assert board_order(values) == [4, 2, 3, 0, 1, 5]
    assert ranks([]) == []


def test_the_shown_value_is_the_ranked_value() -> None:
    assert ranks([1.04, 1.0, 0.96], digits=1) == [1, 1, 1]
    assert ranks([1.06, 1.0], digits=1) == [2, 1]
    assert [shown_value(value, 1) for value in (1.04, None, math.nan)] == [1.0, None, None]


@given(st.lists(st.none() | st.integers(0, 5).map(float), max_size=20))
def test_a_rank_is_one_more_than_those_who_are_better(values: list[float | None]) -> None:
    known = [value for value in values if value is not None]
    assert ranks(values) == [
        None if value is None else 1 + sum(other < value for other in known) for value in values
    ]
    ordered = [values[row] for row in board_order(values)]
    assert ordered == [*sorted(known), *[None] * (len(values) - len(known))]
