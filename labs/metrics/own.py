"""What this process counts itself, from its start on. docs/operations.md says what each figure means.

Names and labels hold no person's name, no prompt and no key: an endpoint's name is the only text of ours.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

# By the kind of process that has them; whatever else a process is, it has memory and a processor.
EVERY, WEB, DRIVE, SWEEP = (CollectorRegistry() for _ in range(4))
BY_ROLE = {"web": (EVERY, WEB), "drive": (EVERY, DRIVE), "sweep": (EVERY, SWEEP)}
ProcessCollector(registry=EVERY)

WAITS_S = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800)
STREAM_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)

TTFT = Histogram(
    "labhub_ttft_seconds",
    "Time to first token of every ask; warm: at least half of the prompt came from the cache.",
    ["endpoint", "prefix"],
    buckets=(0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60),
    registry=DRIVE,
)
QUEUE_WAIT = Histogram(
    "labhub_queue_wait_seconds", "From the queue to a lease.", buckets=WAITS_S, registry=DRIVE
)
LEASE_WAIT = Histogram(
    "labhub_lease_wait_seconds",
    "From the lease to the first request: slots idle, prompts cut into tokens.",
    ["endpoint"],
    buckets=WAITS_S,
    registry=DRIVE,
)
RUNS = Counter("labhub_runs", "Runs that ended, by outcome.", ["endpoint", "outcome"], registry=DRIVE)
THROTTLED = Counter(
    "labhub_throttled_seconds",
    "Time of runs in which a CPU quota stopped a group, summed over its cores.",
    ["endpoint", "group"],
    registry=DRIVE,
)
REQUESTS = Histogram(
    "labhub_request_seconds",
    "How long pages took, the static files among them.",
    ["status"],
    buckets=(0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1, 3, 10),
    registry=WEB,
)
SOCKETS = Gauge("labhub_open_sockets", "Open websockets.", ["kind"], registry=WEB)
STREAM_LAG = Histogram(
    "labhub_stream_lag_seconds",
    "From a note of our own put into Redis until this process's reader has it.",
    buckets=STREAM_S,
    registry=WEB,
)
PUBLISH = Histogram(
    "labhub_publish_seconds",
    "Until a batch of live events was in Redis, waiting for Redis included.",
    buckets=STREAM_S,
    registry=DRIVE,
)
DROPPED = Counter("labhub_events_dropped", "Live events that Redis never took.", registry=DRIVE)
SWEEP_AT = Gauge(
    "labhub_sweep_last_pass_timestamp_seconds", "When the sweep's last whole pass ended.", registry=SWEEP
)
SWEEP_FAILED = Counter("labhub_sweep_failures", "Passes or repairs of the sweep that failed.", registry=SWEEP)
