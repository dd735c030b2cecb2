"""What must hold in the database once everything is quiet, whatever went wrong before."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping

ACCEPTABLE = {"recorded", "inconclusive", "disturbed"}


def problems(submitted: Mapping[uuid.UUID, uuid.UUID], seen: set[uuid.UUID]) -> list[str]:
    """Of all attempts but those in `seen`. `submitted`: key of every accepted POST -> the attempt it made."""
    return [
        *_rounds(submitted),
        *(problem for attempt in _attempts(seen) for problem in _attempt(attempt)),
        *_counts(),
        *_leases(),
    ]


def _attempts(seen: set[uuid.UUID]) -> Iterator[object]:
    from labs.models import Attempt

    found = Attempt.objects.prefetch_related("rounds__runs", "grade_events", "runs").order_by("created_at")
    return (attempt for attempt in found if attempt.pk not in seen)


def _rounds(submitted: Mapping[uuid.UUID, uuid.UUID]) -> Iterator[str]:
    """Nothing lost, nothing doubled."""
    from labs.models import Round

    found = dict(Round.objects.values_list("submit_key", "attempt_id"))
    for key in submitted.keys() - found.keys():
        yield f"round {key} of attempt {submitted[key]} is lost"
    for key in found.keys() - submitted.keys():
        yield f"round {key} of attempt {found[key]} was never answered to its student"
    for key in submitted.keys() & found.keys():
        if submitted[key] != found[key]:
            yield f"round {key} is in attempt {found[key]}, not in {submitted[key]}"


def _attempt(attempt: object) -> Iterator[str]:
    from labs.actions.finish import MOST_RUNS
    from labs.models import Attempt, Grade, GradeEvent, Reason, Run, State

    assert isinstance(attempt, Attempt)
    who = f"attempt {attempt.pk} ({attempt.step}, {attempt.state})"
    events = [event for event in attempt.grade_events.all() if event.kind == GradeEvent.Kind.AUTO]
    rounds = list(attempt.rounds.all())
    match attempt.state:
        case State.QUEUED | State.RUNNING:
            yield f"{who} is stuck"
        case State.GRADED:
            if len(events) != 1:
                yield f"{who} has {len(events)} grade events"
            is_open = any(check["verdict"] == "inconclusive" for event in events for check in event.checks)
            if attempt.charged == is_open:
                yield f"{who} charged: {attempt.charged}, with an open check: {is_open}"
            if not Grade.objects.filter(user=attempt.user_id, step=attempt.step).exists():
                yield f"{who} gave no grade"
        case State.ERRORED:
            if attempt.charged:
                yield f"{who} is charged"
            if attempt.reason not in set(Reason.values) - {"", Reason.GRADER_ERROR}:
                yield f"{who} has the reason {attempt.reason!r}"
        case State.CANCELLED:
            yield f"{who}: nobody stopped it"
    if events and attempt.state != State.GRADED:
        yield f"{who} has a grade"
    for round_ in rounds:
        runs = list(round_.runs.all())
        outcomes = Counter(run.outcome for run in runs)
        if outcomes[Run.Outcome.NONE]:
            yield f"{who} has a run that did not end"
        if outcomes[Run.Outcome.RECORDED] > 1:
            yield f"{who} has {outcomes[Run.Outcome.RECORDED]} results of one round"
        if sum(outcomes.values()) - outcomes[Run.Outcome.NOT_IDLE] > MOST_RUNS:
            yield f"{who} ran {dict(outcomes)}"
        is_done = round_.number < len(rounds) or attempt.state in (State.OPEN, State.GRADED)
        if is_done and round_.plan and round_.accepted_run_id is None:
            yield f"{who} went on without a result of round {round_.number}"
        for run in runs:
            if run.pk == round_.accepted_run_id and run.outcome not in ACCEPTABLE:
                yield f"{who} accepted a run that was {run.outcome}"


def _counts() -> Iterator[str]:
    from django.db.models import Count

    from labs.models import Attempt, AttemptCount

    charged = Counter(
        {
            (user, step): count
            for user, step, count in Attempt.objects.filter(charged=True)
            .values_list("user_id", "step")
            .annotate(count=Count("pk"))
        }
    )
    for count in AttemptCount.objects.all():
        if count.charged != charged.pop((count.user_id, count.step), 0):
            yield f"student {count.user_id}, {count.step}: the counter says {count.charged}"
    for (user, step), number in charged.items():
        yield f"student {user}, {step}: {number} charged attempts and no counter"


def _leases() -> Iterator[str]:
    from labs.models import Endpoint, Lease

    for lease in Lease.objects.select_related("endpoint").filter(run__isnull=False):
        yield f"lease of {lease.endpoint} is held by run {lease.run_id}"
    for endpoint in Endpoint.objects.exclude(state=Endpoint.State.UP):
        yield f"{endpoint} is {endpoint.state}: {endpoint.detail}"
