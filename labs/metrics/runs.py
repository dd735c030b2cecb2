"""What a run that ended adds to this process's figures."""

from __future__ import annotations

from collections.abc import Mapping

from labs.measure.recording import Recording, RunRecord
from labs.metrics.own import LEASE_WAIT, QUEUE_WAIT, RUNS, THROTTLED, TTFT
from labs.models import Run


def count_run(run_id: int, record: RunRecord) -> None:
    """One query. A run that was lost meanwhile counts as that, and by nobody else."""
    run = Run.objects.select_related("attempt", "endpoint").filter(pk=run_id).first()
    if run is None:
        return
    endpoint = run.endpoint.name
    RUNS.labels(endpoint, run.outcome or "none").inc()
    if run.attempt.queued_at and run.number == 1:  # a repeat keeps its place, and so the time it came
        QUEUE_WAIT.observe(max(0.0, (run.started_at - run.attempt.queued_at).total_seconds()))
    if record.lease_us is not None:
        LEASE_WAIT.labels(endpoint).observe(record.lease_us / 1e6)
    for group, stops in record.throttled.items():
        if isinstance(stops, Mapping):
            THROTTLED.labels(endpoint, group).inc(stops["stopped_us"] / 1e6)
    for recording in record.recordings.values():
        if recording.kind == "ask" and recording.figures.ttft_us is not None:
            TTFT.labels(endpoint, _prefix(recording)).observe(recording.figures.ttft_us / 1e6)


def _prefix(recording: Recording) -> str:
    cached = recording.figures.cache_n
    if cached is None or not recording.n:
        return "unknown"
    return "warm" if cached * 2 >= recording.n else "cold"
