"""What the database knows: the queue, the endpoints, and how the latest runs and grades came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from django.db.models import Count, Min
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily, Metric

from labs.models import LIVE, Attempt, Endpoint, GradeEvent, Lease, Run, State
from labs.steps import all_steps

# By number and not by time: the newest rows are found by the primary key, however many there are.
LATEST = 200


def families() -> Iterator[Metric]:
    """A handful of small queries. Raises DatabaseError."""
    yield from _queue()
    yield from _endpoints()
    yield from _runs()
    yield _grades()


def _queue() -> Iterator[Metric]:
    found = dict(
        Attempt.objects.filter(state__in=LIVE).values_list("state").annotate(number=Count("pk")).order_by()
    )
    attempts = GaugeMetricFamily("labhub_attempts", "Attempts that have not ended.", labels=["state"])
    for state in LIVE:
        attempts.add_metric([state.value], found.get(state.value, 0))
    yield attempts
    oldest = Attempt.objects.in_line().filter(state=State.QUEUED).aggregate(at=Min("queued_at"))["at"]
    yield GaugeMetricFamily(
        "labhub_queue_age_seconds", "How long the first in the queue has waited.", _age_s(oldest)
    )
    oldest = Run.objects.filter(outcome=Run.Outcome.NONE, lease__isnull=False).aggregate(at=Min("started_at"))
    yield GaugeMetricFamily(
        "labhub_run_age_seconds", "How long the longest run has been under way.", _age_s(oldest["at"])
    )


def _endpoints() -> Iterator[Metric]:
    states = GaugeMetricFamily(
        "labhub_endpoint_state", "1 for the state that an endpoint is in.", labels=["endpoint", "state"]
    )
    failures = GaugeMetricFamily(
        "labhub_endpoint_failures", "Failures in a row; three open the breaker.", labels=["endpoint"]
    )
    canaries = GaugeMetricFamily(
        "labhub_endpoint_red_canary", "1 where a canary failed and steps are paused.", labels=["endpoint"]
    )
    rows = Endpoint.objects.exclude(state=Endpoint.State.REMOVED).order_by("name")
    for name, state, number, is_red in rows.values_list("name", "state", "failures", "has_red_canary"):
        for each in Endpoint.State.values:
            states.add_metric([name, each], float(each == state))
        failures.add_metric([name], number)
        canaries.add_metric([name], float(is_red))
    yield from (states, failures, canaries)
    held = Lease.objects.exclude(holder="").count()
    yield GaugeMetricFamily("labhub_leases_held", "Endpoints that a worker holds.", held)


def _runs() -> Iterator[Metric]:
    newest = Run.objects.filter(copy_of=None).order_by("-pk").values_list("outcome", flat=True)[:LATEST]
    outcomes = Counter(outcome for outcome in newest if outcome)
    runs = GaugeMetricFamily(
        "labhub_recent_runs", f"Of the last {LATEST} runs, those that ended so.", labels=["outcome"]
    )
    for outcome in Run.Outcome.values:
        if outcome:
            runs.add_metric([outcome], outcomes[outcome])
    yield runs
    total = sum(outcomes.values())
    for outcome in (Run.Outcome.DISTURBED, Run.Outcome.INCONCLUSIVE):
        share = outcomes[outcome.value] / total if total else 0.0
        yield GaugeMetricFamily(
            f"labhub_{outcome.value}_ratio", f"Share of {outcome.value} among the last {LATEST} runs.", share
        )


def _grades() -> Metric:
    newest = GradeEvent.objects.filter(kind=GradeEvent.Kind.AUTO).order_by("-pk")
    verdicts: Counter[str] = Counter()
    for step_key, points, open_points in newest.values_list("attempt__step", "points", "open_points")[
        :LATEST
    ]:
        step = all_steps().get(step_key)
        if open_points:
            verdicts["inconclusive"] += 1
        elif step is not None:
            verdicts["pass" if points >= step.points else "fail"] += 1
    grades = GaugeMetricFamily(
        "labhub_recent_grades",
        f"The last {LATEST} automatic grades: full points (pass), points lost (fail), a check open (inconclusive).",
        labels=["verdict"],
    )
    for verdict in ("pass", "fail", "inconclusive"):
        grades.add_metric([verdict], verdicts[verdict])
    return grades


def _age_s(since: datetime | None) -> float:
    return max(0.0, (timezone.now() - since).total_seconds()) if since else 0.0
