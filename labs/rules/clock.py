"""A course's wall clock. What a person enters is a local minute; what is stored is an instant (UTC) and a zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from labs.text import N_, Text

MINUTE = timedelta(minutes=1)
SHOWN = "%Y-%m-%d %H:%M"


class SkippedTime(ValueError):
    """The clocks are put forward over this local time. `text` says so to the person who entered it."""

    def __init__(self, local: datetime, zone: str) -> None:
        self.text: Text = N_(
            "%(time)s does not exist in %(zone)s: the clocks are put forward over it. Choose an earlier or a later"
            " time.",
            time=local.strftime(SHOWN),
            zone=zone,
        )
        super().__init__(str(self.text))


def instant(local: datetime, zone: str) -> datetime:
    """The instant of a naive local time; of one that comes twice, the later. Raises SkippedTime."""
    there = ZoneInfo(zone)
    at = local.replace(tzinfo=there, fold=1).astimezone(UTC)
    if at.astimezone(there).replace(tzinfo=None) != local:
        raise SkippedTime(local, zone)
    return at


def local_of(at: datetime, zone: str) -> datetime:
    """The naive local time of an instant, as a person would enter it."""
    return at.astimezone(ZoneInfo(zone)).replace(tzinfo=None, fold=0)


def add_days(at: datetime, days: int, zone: str) -> datetime:
    """The same wall clock time so many days later, whatever the clocks do in between. Raises SkippedTime."""
    return instant(local_of(at, zone) + timedelta(days=days), zone)


def days_on(at: datetime, days: int, zone: str) -> datetime:
    """As `add_days`, for times that nobody entered: over a skipped time the clock runs on, 02:30 is 03:30 then."""
    local = local_of(at, zone) + timedelta(days=days)
    try:
        return instant(local, zone)
    except SkippedTime:
        return local.replace(tzinfo=ZoneInfo(zone), fold=0).astimezone(UTC)


def minute_end(at: datetime) -> datetime:
    """The first moment after the minute of `at`: 23:59 covers 23:59:59.999, and ends here."""
    return at.replace(second=0, microsecond=0) + MINUTE


def days_begun(due_at: datetime, at: datetime, zone: str) -> int:
    """0 up to the end of the due minute, then 1 until that minute of the next day has ended, and so on."""
    if at < minute_end(due_at):
        return 0
    # No zone moves its clocks by more than a day, so this is never too far.
    days = max(1, (at - due_at).days - 1)
    while at >= minute_end(days_on(due_at, days, zone)):
        days += 1
    return days


def written(at: datetime, zone: str) -> str:
    """'2026-11-30 23:59 KST': in the zone, which is named."""
    return at.astimezone(ZoneInfo(zone)).strftime(f"{SHOWN} %Z")
