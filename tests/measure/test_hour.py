"""The class hour: machine-minutes, pairs, and starts that do not collide."""

from __future__ import annotations

import pytest

from labs.measure.hour import StepTime, need, pairs_of, spread


def step(key: str, ms: float, *after: str, slow: float = 1.0) -> StepTime:
    return StepTime(key, ms, ms * slow, after=frozenset(after))


def test_forty_students_of_forty_seconds_find_51_minutes_in_an_hour() -> None:
    found = need([step("a", 15_000), step("b", 25_500)], 40, 60, 1)
    assert (found.usual_min, found.given_min) == (27, 51)
    assert found.verdict == "fine"
    assert found.endpoints_needed == 1


@pytest.mark.parametrize(
    ("attempts", "endpoints", "verdict", "needed"),
    [
        (60, 1, "tight", 2),
        (100, 1, "short", 2),
        (100, 2, "fine", 2),
        (100, 0, "short", 2),
        (1, 0, "short", 1),
    ],
)
def test_the_slow_runs_decide_what_is_fine(attempts: int, endpoints: int, verdict: str, needed: int) -> None:
    found = need([step("a", 40_000, slow=1.5)], attempts, 60, endpoints)
    assert (found.verdict, found.endpoints_needed) == (verdict, needed)


def test_an_odd_one_works_alone() -> None:
    assert [pairs_of(n) for n in (1, 2, 3, 40, 41)] == [1, 1, 2, 20, 21]


def test_groups_begin_where_the_long_steps_do_not_meet() -> None:
    steps = [step("long", 9_000), step("b", 1_000), step("long-too", 8_000), step("d", 1_000)]
    found = spread(steps, 10, 2)
    assert [group.size for group in found.groups] == [5, 5]
    together = [list(pair) for pair in zip(*(group.order for group in found.groups), strict=True)]
    assert not any(set(pair) <= {"long", "long-too"} for pair in together)
    assert found.busiest_ms == 5 * 10_000
    assert found.together_ms == 10 * 9_000


def test_nobody_begins_with_a_step_that_waits_for_another_and_all_come_after_it() -> None:
    steps = [step("a", 1_000), step("b", 5_000), step("c", 5_000, "b")]
    for count in (1, 2, 3):
        groups = spread(steps, 9, count).groups
        assert len(groups) == min(count, 2)
        for group in groups:
            assert sorted(group.order) == ["a", "b", "c"]
            assert group.order.index("b") < group.order.index("c")
        assert sum(group.size for group in groups) == 9


def test_what_is_not_on_the_list_is_not_waited_for() -> None:
    assert spread([step("c", 5_000, "b")], 3, 1).groups[0].order == ["c"]


def test_no_more_groups_than_attempts() -> None:
    found = spread([step(key, 1_000) for key in "abcdefghi"], 2, 9)
    assert [group.size for group in found.groups] == [1, 1]
    assert found.busiest_ms == 2_000


def test_a_circle_of_demands_still_ends() -> None:
    steps = [step("a", 1_000, "b"), step("b", 1_000, "a")]
    assert sorted(spread(steps, 2, 2).groups[0].order) == ["a", "b"]
