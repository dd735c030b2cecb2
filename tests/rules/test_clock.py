"""The course's wall clock over both changes in New York and Berlin, and in Seoul, which has none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.rules.clock import (
    SkippedTime,
    add_days,
    days_begun,
    days_on,
    instant,
    local_of,
    minute_end,
    written,
)

NEW_YORK, BERLIN, SEOUL = "America/New_York", "Europe/Berlin", "Asia/Seoul"
ZONES = st.sampled_from([NEW_YORK, BERLIN, SEOUL])
SECOND = timedelta(seconds=1)

# Around all four changes of 2026 in the two zones that have them.
LOCAL_MINUTES = st.one_of(
    st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31)),
    *(
        st.datetimes(datetime(2026, month, day), datetime(2026, month, day) + timedelta(days=2))
        for month, day in ((3, 7), (3, 28), (10, 24), (10, 31))
    ),
).map(lambda local: local.replace(second=0, microsecond=0))


def utc(year: int, month: int, day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


def is_skipped(local: datetime, zone: str) -> bool:
    """By a walk over the instants around it: no minute of them reads so."""
    start = local.replace(tzinfo=UTC) - timedelta(hours=15)
    there = ZoneInfo(zone)
    return all(
        (start + timedelta(minutes=n)).astimezone(there).replace(tzinfo=None, fold=0) != local
        for n in range(30 * 60)
    )


@given(LOCAL_MINUTES, ZONES)
def test_what_is_entered_is_what_is_shown_again(local: datetime, zone: str) -> None:
    try:
        at = instant(local, zone)
    except SkippedTime:
        return
    assert local_of(at, zone) == local
    assert instant(local_of(at, zone), zone) == at, "saving an unchanged form moves nothing"


@given(LOCAL_MINUTES, ZONES)
def test_of_two_instants_that_read_alike_it_is_the_later(local: datetime, zone: str) -> None:
    try:
        at = instant(local, zone)
    except SkippedTime:
        return
    later = [at + timedelta(minutes=m) for m in (30, 60, 120)]
    assert all(local_of(other, zone) != local for other in later)


@pytest.mark.parametrize(
    ("zone", "local"),
    [(NEW_YORK, datetime(2026, 3, 8, 2, 30)), (BERLIN, datetime(2026, 3, 29, 2, 0))],
)
def test_a_skipped_time_is_refused_with_a_sentence(zone: str, local: datetime) -> None:
    assert is_skipped(local, zone)
    with pytest.raises(SkippedTime) as refused:
        instant(local, zone)
    assert str(refused.value) == (
        f"{local:%Y-%m-%d %H:%M} does not exist in {zone}: the clocks are put forward over it. Choose an earlier"
        " or a later time."
    )
    assert instant(local - timedelta(hours=1), zone) < instant(local + timedelta(hours=1), zone)


@pytest.mark.parametrize("local", [datetime(2026, 3, 8, 1, 59), datetime(2026, 3, 8, 3, 0)])
def test_only_the_skipped_hour_is_refused(local: datetime) -> None:
    assert local_of(instant(local, NEW_YORK), NEW_YORK) == local


@pytest.mark.parametrize(
    ("zone", "local", "later"),
    [
        (NEW_YORK, datetime(2026, 11, 1, 1, 30), utc(2026, 11, 1, 6, 30)),
        (BERLIN, datetime(2026, 10, 25, 2, 30), utc(2026, 10, 25, 1, 30)),
    ],
)
def test_a_doubled_time_takes_the_later(zone: str, local: datetime, later: datetime) -> None:
    assert instant(local, zone) == later
    assert local_of(later - timedelta(hours=1), zone) == local


def test_seven_days_over_a_change_are_seven_days_on_the_wall() -> None:
    due_at = instant(datetime(2026, 10, 28, 18, 0), NEW_YORK)
    assert due_at == utc(2026, 10, 28, 22)
    assert add_days(due_at, 7, NEW_YORK) == utc(2026, 11, 4, 23), "not 17:00, which is 22:00Z"
    assert written(add_days(due_at, 7, NEW_YORK), NEW_YORK) == "2026-11-04 18:00 EST"
    due_at = instant(datetime(2026, 10, 21, 18, 0), BERLIN)
    assert written(add_days(due_at, 7, BERLIN), BERLIN) == "2026-10-28 18:00 CET"


def test_days_that_end_in_a_skipped_time_are_refused_to_who_enters_them() -> None:
    due_at = instant(datetime(2026, 3, 1, 2, 30), NEW_YORK)
    with pytest.raises(SkippedTime, match="2026-03-08 02:30"):
        add_days(due_at, 7, NEW_YORK)
    assert written(days_on(due_at, 7, NEW_YORK), NEW_YORK) == "2026-03-08 03:30 EDT"
    assert written(days_on(due_at, 8, NEW_YORK), NEW_YORK) == "2026-03-09 02:30 EDT"


@given(LOCAL_MINUTES, ZONES, st.integers(0, 400))
def test_days_are_added_on_the_wall_clock(local: datetime, zone: str, days: int) -> None:
    try:
        later = add_days(instant(local, zone), days, zone)
    except SkippedTime:
        return
    assert local_of(later, zone) == local + timedelta(days=days)


@given(LOCAL_MINUTES, ZONES, st.integers(0, 59_999_999))
def test_a_due_minute_is_on_time_to_its_last_microsecond(local: datetime, zone: str, us: int) -> None:
    try:
        due_at = instant(local, zone)
    except SkippedTime:
        return
    assert days_begun(due_at, due_at + timedelta(microseconds=us), zone) == 0
    assert days_begun(due_at, minute_end(due_at), zone) == 1


@given(LOCAL_MINUTES, ZONES, st.integers(1, 40))
def test_a_late_day_ends_with_the_due_minute_of_the_next(local: datetime, zone: str, days: int) -> None:
    """The day is the course's, 23 or 25 hours long where the clocks change."""
    try:
        due_at = instant(local, zone)
    except SkippedTime:
        return
    last = minute_end(days_on(due_at, days, zone)) - timedelta(microseconds=1)
    assert days_begun(due_at, last, zone) == days
    assert days_begun(due_at, last + timedelta(microseconds=1), zone) == days + 1


@given(LOCAL_MINUTES, ZONES, st.lists(st.integers(-100_000, 8_000_000), min_size=2, max_size=8))
def test_more_time_never_means_fewer_days(local: datetime, zone: str, seconds: list[int]) -> None:
    try:
        due_at = instant(local, zone)
    except SkippedTime:
        return
    days = [days_begun(due_at, due_at + n * SECOND, zone) for n in sorted(seconds)]
    assert days == sorted(days)


def test_a_day_of_23_and_one_of_25_hours() -> None:
    due_at = instant(datetime(2026, 3, 7, 23, 59), NEW_YORK)
    assert days_begun(due_at, minute_end(due_at) + timedelta(hours=23) - SECOND, NEW_YORK) == 1
    assert days_begun(due_at, minute_end(due_at) + timedelta(hours=23), NEW_YORK) == 2
    due_at = instant(datetime(2026, 10, 31, 23, 59), NEW_YORK)
    assert days_begun(due_at, minute_end(due_at) + timedelta(hours=25) - SECOND, NEW_YORK) == 1
    assert days_begun(due_at, minute_end(due_at) + timedelta(hours=25), NEW_YORK) == 2


def test_seoul_is_said_in_seoul_wherever_the_reader_is() -> None:
    due_at = instant(datetime(2026, 11, 30, 23, 59), SEOUL)
    assert due_at == utc(2026, 11, 30, 14, 59)
    assert written(due_at, SEOUL) == "2026-11-30 23:59 KST"
