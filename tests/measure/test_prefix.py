"""How many tokens the cache should have served (DESIGN 6.2), with the sequences measured there."""

from __future__ import annotations

import pytest

from labs.measure.prefix import common_prefix, expected_cache

A = list(range(203))
B = [*range(24), *range(500, 679)]


def test_common_prefix() -> None:
    assert common_prefix([1, 2, 3], [1, 2, 4]) == 2
    assert common_prefix([1, 2], [1, 2, 3]) == 2
    assert common_prefix([], [1]) == 0
    assert common_prefix([5], [1]) == 0


@pytest.mark.parametrize(
    ("held", "generated", "cache", "seen"),
    [
        (A, 4, True, 202),  # an identical repeat computes one token
        (B, 4, True, 24),  # another prompt with the same head
        ((), 0, True, 0),  # emptied
        (A, 4, False, 0),  # the cache is off for this ask
        (A[:152], 0, True, 152),  # cut in prefill: what was computed is there
        (A[:150], 30, True, 170),  # the slot's own answer continues the prefix
        (None, 0, True, 77),  # unknown allows everything
    ],
)
def test_a_measured_cache_n_is_expected(
    held: list[int] | None, generated: int, cache: bool, seen: int
) -> None:
    low, high = expected_cache(A, held, generated, cache)
    assert low <= seen <= high


@pytest.mark.parametrize(
    ("held", "generated", "cache", "seen"),
    [
        (A, 0, True, 24),  # should have hit
        (B, 0, True, 202),  # came from a hidden cache
        ((), 0, True, 1),
        (A, 4, False, 202),
        (A[:152], 0, True, 202),
    ],
)
def test_a_wrong_cache_n_is_not_expected(held: list[int], generated: int, cache: bool, seen: int) -> None:
    low, high = expected_cache(A, held, generated, cache)
    assert not low <= seen <= high


def test_an_empty_prompt_is_no_trouble() -> None:
    assert expected_cache([], None) == (0, 0)
