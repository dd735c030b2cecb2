"""The public report of deadlines off by an hour over a clock change, with its own inputs, as one story."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from labs.rules.clock import SkippedTime, add_days, instant, written
from labs.rules.window import Door, Late, Standing, Window

NEW_YORK, SEOUL = "America/New_York", "Asia/Seoul"
DUE = instant(datetime(2026, 10, 28, 18, 0), NEW_YORK)


def test_due_wednesday_at_18_and_seven_days_more() -> None:
    window = Window(NEW_YORK, due_at=DUE).extended(add_days(DUE, 7, NEW_YORK))
    assert window.due_at == datetime(2026, 11, 4, 23, 0, tzinfo=UTC)
    assert written(window.due_at, NEW_YORK) == "2026-11-04 18:00 EST"
    assert window.standing(datetime(2026, 11, 4, 22, 30, tzinfo=UTC)).door is Door.ON_TIME, (
        "not 17:00 local, where seven times 24 hours end"
    )


@pytest.mark.parametrize(
    ("local", "days"),
    [
        (datetime(2026, 10, 28, 23, 59, 30), 1),
        (datetime(2026, 10, 29, 0, 0, 30), 1),
        (datetime(2026, 10, 29, 18, 0, 59), 1),
        (datetime(2026, 10, 29, 18, 1, 0), 2),
        (datetime(2026, 11, 1, 18, 0, 59), 4),
        (datetime(2026, 11, 1, 18, 1, 0), 5),
    ],
)
def test_a_day_late_is_a_day_of_the_course_from_due_minute_to_due_minute(local: datetime, days: int) -> None:
    """Midnight begins no new day, neither the course's nor the server's; the night of 25 hours is one day."""
    window = Window(NEW_YORK, due_at=DUE, late=Late.REDUCED, percent_a_day=10)
    at = local.replace(tzinfo=ZoneInfo(NEW_YORK)).astimezone(UTC)
    assert window.standing(at) == Standing(Door.LATE, days, 10 * days)


def test_due_0230_in_the_skipped_hour_is_refused() -> None:
    with pytest.raises(SkippedTime, match="2026-03-08 02:30 does not exist in America/New_York"):
        instant(datetime(2026, 3, 8, 2, 30), NEW_YORK)


def test_seoul_seen_from_utc_names_its_zone() -> None:
    due_at = instant(datetime(2026, 10, 28, 23, 59), SEOUL)
    assert due_at.utcoffset() == timedelta(0)
    assert (due_at.hour, written(due_at, SEOUL)) == (14, "2026-10-28 23:59 KST")


@pytest.mark.parametrize("seconds", [0, 30, 58, 59.999])
def test_due_2359_is_on_time_to_its_last_second(seconds: float) -> None:
    due_at = instant(datetime(2026, 10, 28, 23, 59), SEOUL)
    window = Window(SEOUL, due_at=due_at)
    assert window.standing(due_at + timedelta(seconds=seconds)).door is Door.ON_TIME
    assert window.standing(due_at + timedelta(seconds=60)).door is Door.CLOSED
