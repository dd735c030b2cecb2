"""What the database says of attempts right now: state, place in the queue, wait. The truth behind the stream."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.db.models import F, Max, OuterRef, Subquery

from labs.actions.pauses import ANSWERING, closed_steps
from labs.actions.speed import ms_per_token
from labs.live.waiting import Pace, guessed_pace, measured_pace, waits_s
from labs.measure.plan import Plan
from labs.models import TERMINAL, Attempt, Endpoint, Round, Run, State

LAST_RUNS = 40


@dataclass(frozen=True, slots=True)
class Status:
    """`place` counts from 1 and is None unless queued; practice has a line of its own, behind all graded attempts, and
    its wait is what it is while no other of those comes. The wait is None when not queued, or when no endpoint is up
    and nobody can know. `round_number` and `run_number` are the newest ones, 0 before the first."""

    state: State
    version: int
    reason: str = ""
    place: int | None = None
    ahead: int | None = None
    wait_low_s: int | None = None
    wait_high_s: int | None = None
    returned: bool = False
    practice: bool = False
    round_number: int = 0
    run_number: int = 0
    cancel_requested: bool = False

    @property
    def is_terminal(self) -> bool:
        return self.state in TERMINAL

    def message(self) -> dict[str, Any]:
        """For the page. `round` and `run` are numbers."""
        message = {"kind": "state", **asdict(self)}
        message["round"], message["run"] = message.pop("round_number"), message.pop("run_number")
        return message


def statuses(ids: Collection[UUID]) -> dict[UUID, Status]:
    """At most six queries, however many ids. Ids that do not exist are left out."""
    rows = list(
        Attempt.objects.filter(pk__in=ids).annotate(
            round_number=Max("rounds__number", default=0), run_number=Max("runs__number", default=0)
        )
    )
    places = _places() if any(row.state == State.QUEUED for row in rows) else {}
    found = {}
    for row in rows:
        place, low_s, high_s = places.get(row.pk, (None, None, None))
        found[row.pk] = Status(
            state=State(row.state),
            version=row.version,
            reason=row.reason,
            place=place,
            ahead=None if place is None else place - 1,
            wait_low_s=low_s,
            wait_high_s=high_s,
            returned=row.returned,
            practice=row.practice,
            round_number=vars(row)["round_number"],
            run_number=vars(row)["run_number"],
            cancel_requested=row.cancel_requested,
        )
    return found


def _places() -> dict[UUID, tuple[int, int | None, int | None]]:
    """Attempt -> (place, low, high) of the whole queue: first come, first served, and practice last, counted for
    itself. Who waits for a step that is paused on every server has no place: nobody is behind them."""
    newest = Round.objects.filter(attempt=OuterRef("pk")).order_by("-number").values("submit_key")[:1]
    rows = list(
        Attempt.objects.filter(state__in=[State.QUEUED, State.RUNNING])
        .annotate(submit_key=Subquery(newest))
        .order_by("practice", F("queued_at").asc(nulls_last=True), "pk")
        .values_list("pk", "state", "submit_key", "step", "practice")
    )
    cost_ms = _server_ms({key for _, _, key, _, _ in rows if key})
    answering = list(Endpoint.objects.filter(state__in=ANSWERING))
    up = [endpoint for endpoint in answering if endpoint.state == Endpoint.State.UP]
    paused = closed_steps(answering)
    queued = [
        (pk, cost_ms.get(key, 0.0), practice)
        for pk, state, key, step, practice in rows
        if state == State.QUEUED and step not in paused
    ]
    running_ms = [cost_ms.get(key, 0.0) for _, state, key, _, _ in rows if state == State.RUNNING]
    graded = sum(not practice for _, _, practice in queued)
    places = [place - graded if practice else place for place, (_, _, practice) in enumerate(queued, 1)]
    waits: Iterable[tuple[int | None, int | None]] = [(None, None)] * len(queued)
    if up:
        waits = waits_s([ms for _, ms, _ in queued], running_ms, len(up), _pace(answering))
    return {pk: (place, *wait_s) for (pk, _, _), place, wait_s in zip(queued, places, waits, strict=True)}


def _pace(endpoints: Sequence[Endpoint]) -> Pace:
    """Of the last runs that went well; before there are enough, by how fast the endpoints are known to read."""
    last = list(
        Run.objects.filter(outcome=Run.Outcome.RECORDED, ended_at__isnull=False)
        .order_by("-pk")
        .values_list("round__submit_key", "started_at", "ended_at")[:LAST_RUNS]
    )
    cost_ms = _server_ms({key for key, _, _ in last})
    return measured_pace(
        [
            (cost_ms.get(key, 0.0), (ended_at - started_at).total_seconds() * 1000)
            for key, started_at, ended_at in last
            if ended_at is not None
        ],
        guessed_pace([known for one in endpoints if (known := ms_per_token(one)) is not None]),
    )


# A plan never changes once it is frozen, and its prompts are long: each is read once a process.
_known_ms: OrderedDict[UUID, float] = OrderedDict()
_KNOWN = 4096


def _server_ms(submit_keys: set[UUID]) -> dict[UUID, float]:
    unknown = [key for key in submit_keys if key not in _known_ms]
    if unknown:
        plans = Round.objects.filter(submit_key__in=unknown).values_list("submit_key", "plan")
        _known_ms.update((key, Plan.from_json(plan).server_ms()) for key, plan in plans if plan)
    found = {key: ms for key in submit_keys if (ms := _known_ms.get(key)) is not None}
    while len(_known_ms) > _KNOWN:
        _known_ms.popitem(last=False)
    return found
