"""How an endpoint did in the last day, hour by hour: runs, faults, and the time to first token."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.core.cache import cache
from django.utils import timezone

from labs.measure.stats import median
from labs.models import Endpoint, Run, StoredRecording

HOURS = 24
# Reading more of them would cost more than such a figure is worth; the page says so.
MOST_RUNS = 200
REMEMBER_S = 60
FAULTS = (Run.Outcome.ERRORED, Run.Outcome.LOST)
NOTHING_PROVED = (Run.Outcome.DISTURBED, Run.Outcome.INCONCLUSIVE)


@dataclass(slots=True)
class Hour:
    """`begins_at` is whole; `ttft_ms` of all requests that got a first token."""

    begins_at: datetime
    runs: int = 0
    faults: int = 0
    unproved: int = 0
    ttft_ms: list[float] = field(default_factory=list)

    @property
    def p50_ms(self) -> float | None:
        return median(self.ttft_ms)


@dataclass(frozen=True, slots=True)
class Day:
    """`is_cut`: there were more runs than are counted here; the newest are."""

    hours: Sequence[Hour]
    is_cut: bool = False

    @property
    def runs(self) -> int:
        return sum(hour.runs for hour in self.hours)

    @property
    def p50_ms(self) -> float | None:
        return median(ms for hour in self.hours for ms in hour.ttft_ms)

    @property
    def fault_percent(self) -> float | None:
        return _percent(sum(hour.faults for hour in self.hours), self.runs)

    @property
    def unproved_percent(self) -> float | None:
        return _percent(sum(hour.unproved for hour in self.hours), self.runs)


def day_of(endpoint: Endpoint) -> Day:
    """At most a minute old."""
    key = f"trend:{endpoint.pk}"
    found: Day | None = cache.get(key)
    if found is None:
        found = _day(endpoint)
        cache.set(key, found, REMEMBER_S)
    return found


def _day(endpoint: Endpoint) -> Day:
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    hours = {
        now - timedelta(hours=back): Hour(now - timedelta(hours=back)) for back in reversed(range(HOURS))
    }
    runs = list(
        Run.objects.filter(endpoint=endpoint, copy_of=None, started_at__gte=min(hours))
        .exclude(outcome__in=[Run.Outcome.NONE, Run.Outcome.NOT_IDLE])
        .order_by("-pk")
        .values_list("pk", "started_at", "outcome")[: MOST_RUNS + 1]
    )
    counted = runs[:MOST_RUNS]
    at = {pk: _hour(started_at) for pk, started_at, _ in counted}
    for pk, _started_at, outcome in counted:
        if (hour := hours.get(at[pk])) is not None:
            hour.runs += 1
            hour.faults += outcome in FAULTS
            hour.unproved += outcome in NOTHING_PROVED
    for pk, first_us in _first_tokens_us(at):
        if first_us is not None and (hour := hours.get(at[pk])) is not None:
            hour.ttft_ms.append(first_us / 1000)
    return Day(list(hours.values()), is_cut=len(runs) > MOST_RUNS)


def _first_tokens_us(runs: Iterable[int]) -> Iterable[tuple[int, int | None]]:
    rows = StoredRecording.objects.filter(run__in=list(runs), data__kind="ask")
    return rows.values_list("run_id", "data__figures__first_token_us")


def _hour(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None
