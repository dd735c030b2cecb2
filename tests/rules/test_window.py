"""What a submit costs at a moment: before, on time, late by days, closed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.rules.clock import instant, minute_end
from labs.rules.score import counted, weight
from labs.rules.window import Door, Late, Standing, Window

ZONE = "America/New_York"
DUE = instant(datetime(2026, 10, 31, 23, 59), ZONE)  # the clocks go back in this night


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)


def test_a_step_without_a_due_time_is_open_for_ever() -> None:
    assert Window().standing(at(2100, 1, 1)) == Standing(Door.ON_TIME)


def test_it_opens_with_its_minute() -> None:
    window = Window(ZONE, opens_at=DUE - timedelta(days=7), due_at=DUE)
    assert window.opens_at is not None
    assert window.standing(window.opens_at - timedelta(microseconds=1)).door is Door.EARLY
    assert window.standing(window.opens_at).door is Door.ON_TIME


@pytest.mark.parametrize(
    ("clock", "door"),
    [((3, 59, 58), Door.ON_TIME), ((3, 59, 59), Door.ON_TIME), ((4, 0, 0), Door.CLOSED)],
)
def test_2359_covers_its_whole_minute_and_no_more(clock: tuple[int, int, int], door: Door) -> None:
    """DESIGN 7. 23:59 in New York is 03:59Z here, for the clocks go back two hours later."""
    assert Window(ZONE, due_at=DUE).standing(at(2026, 11, 1, *clock)).door is door


@pytest.mark.parametrize("microsecond", [0, 400_000])
def test_public_case_18_00_and_a_bit(microsecond: int) -> None:
    """Due 18:00: 18:00:00.400 is on time, for the minute is; 18:01:00 is not."""
    due_at = instant(datetime(2026, 10, 28, 18, 0), ZONE)
    window = Window(ZONE, due_at=due_at)
    assert window.standing(due_at + timedelta(microseconds=microsecond)).door is Door.ON_TIME
    assert window.standing(due_at + timedelta(minutes=1, microseconds=microsecond)).door is Door.CLOSED


REDUCED = Window(ZONE, due_at=DUE, late=Late.REDUCED, percent_a_day=15, floor_percent=50)


@pytest.mark.parametrize(
    ("after", "days", "percent"),
    [
        (timedelta(), 1, 15),
        (timedelta(hours=24, minutes=59), 1, 15),  # this day has 25 hours
        (timedelta(hours=25), 2, 30),
        (timedelta(hours=49), 3, 45),
        (timedelta(hours=73), 4, 50),
        (timedelta(days=100), 100, 50),
    ],
)
def test_each_day_begun_costs_until_the_floor(after: timedelta, days: int, percent: int) -> None:
    assert REDUCED.standing(minute_end(DUE) + after) == Standing(Door.LATE, days, percent)


def test_the_hard_end_covers_its_minute_too() -> None:
    for late, percent in ((Late.REDUCED, 30), (Late.ACCEPTED, 0)):
        window = Window(ZONE, due_at=DUE, late=late, percent_a_day=15, ends_at=DUE + timedelta(days=2))
        assert window.ends_at is not None
        last = minute_end(window.ends_at)
        assert window.standing(last - timedelta(microseconds=1)) == Standing(Door.LATE, 2, percent)
        assert window.standing(last).door is Door.CLOSED


def test_an_extension_moves_the_due_and_an_end_that_would_come_before_it() -> None:
    later = DUE + timedelta(days=5)
    window = Window(ZONE, due_at=DUE, late=Late.ACCEPTED, ends_at=DUE + timedelta(days=2)).extended(later)
    assert (window.due_at, window.ends_at) == (later, later)
    assert window.extended(DUE) == window, "an extension never takes time away"
    assert Window().extended(later) == Window(), "what is never due stays so"


INSTANTS = st.datetimes(datetime(2026, 10, 1), datetime(2026, 12, 31), timezones=st.just(UTC))


@given(INSTANTS, INSTANTS, st.integers(0, 100), st.integers(0, 100))
def test_waiting_never_makes_it_cheaper(one: datetime, other: datetime, percent: int, floor: int) -> None:
    window = Window(ZONE, due_at=DUE, late=Late.REDUCED, percent_a_day=percent, floor_percent=floor)
    sooner, later = sorted((one, other))
    assert window.standing(sooner).percent <= window.standing(later).percent <= 100 - floor


@given(st.integers(0, 20), st.integers(0, 100), st.integers(1, 20), st.integers(0, 40))
def test_counted_points_are_exact_to_half_a_hundredth(points: int, late: int, most: int, worth: int) -> None:
    found = counted(points, late, most, worth)
    exact = Fraction(points * (100 - late) * worth, 100 * most)
    assert abs(Fraction(found) - exact) <= Fraction(1, 200)
    assert "E" not in str(found)


@given(st.integers(0, 30), st.integers(0, 100), st.integers(0, 30), st.integers(0, 100))
def test_the_heavier_attempt_never_counts_for_less(p: int, late_p: int, q: int, late_q: int) -> None:
    if weight(p, late_p) >= weight(q, late_q):
        assert counted(p, late_p, 15, 20) >= counted(q, late_q, 15, 20)


@pytest.mark.parametrize(
    ("points", "late", "most", "worth", "said"),
    [(15, 0, 15, 15, "15"), (15, 10, 15, 15, "13.5"), (10, 0, 15, 20, "13.33"), (15, 20, 15, 20, "16")],
)
def test_points_read_as_a_person_writes_them(
    points: int, late: int, most: int, worth: int, said: str
) -> None:
    assert str(counted(points, late, most, worth)) == said
    assert counted(points, late, most, worth) == Decimal(said)
