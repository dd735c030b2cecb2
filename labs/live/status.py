"""What the database says of attempts right now: state, place in the queue, wait. The truth behind the stream."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.db.models import F, Max, OuterRef, Subquery
from django.utils import timezone

from labs.actions.openings import Openings, openings
from labs.actions.pauses import closed_steps
from labs.actions.speed import ms_per_token
from labs.live.waiting import Pace, guessed_pace, measured_pace, waits_s
from labs.measure.plan import Plan
from labs.models import TERMINAL, Attempt, Endpoint, Round, Run, State
from labs.rules.clock import local_of, written

LAST_RUNS = 40
# Of an attempt; hundreds are asked for every two seconds.
ATTEMPT_FIELDS = (
    "state",
    "version",
    "reason",
    "returned",
    "practice",
    "cancel_requested",
    "step",
    "pair_id",
    "rides_on_id",
    "partner_until",
)


@dataclass(frozen=True, slots=True)
class Status:
    """`place` counts from 1 and is None unless queued; practice has a line of its own, behind all graded attempts, and
    its wait is what it is while no other of those comes. The wait is None when not queued, or when no endpoint is up
    and nobody can know. `round_number` and `run_number` are the newest ones, 0 before the first. `why`: what keeps it
    waiting where no server takes it now (labs.actions.openings.Why), until `why_until` in the course's zone.

    `returned`: its run was interrupted, and it stands at the head again; `back_ahead`: another one's was, and it is
    before this one.

    `partner`: 'awaited' while it waits for a partner's answers until `partner_until`, 'shared' while the partner's run
    is its own; it has no place then.
    """

    state: State
    version: int
    reason: str = ""
    place: int | None = None
    ahead: int | None = None
    wait_low_s: int | None = None
    wait_high_s: int | None = None
    returned: bool = False
    back_ahead: bool = False
    practice: bool = False
    round_number: int = 0
    run_number: int = 0
    cancel_requested: bool = False
    why: str = ""
    why_note: str = ""
    why_until: str = ""
    partner: str = ""
    partner_until: str = ""

    @property
    def is_terminal(self) -> bool:
        return self.state in TERMINAL

    def message(self) -> dict[str, Any]:
        """For the page. `round` and `run` are numbers."""
        message = {"kind": "state", **asdict(self)}
        message["round"], message["run"] = message.pop("round_number"), message.pop("run_number")
        return message


def statuses(ids: Collection[UUID], servers: Openings | None = None) -> dict[UUID, Status]:
    """At most seven queries, however many ids. Ids that do not exist are left out. `servers`: where they were looked at
    already."""
    rows = list(
        Attempt.objects.filter(pk__in=ids)
        .select_related("course")
        .only(*ATTEMPT_FIELDS, "course__zone")
        .annotate(round_number=Max("rounds__number", default=0), run_number=Max("runs__number", default=0))
    )
    if not any(row.state == State.QUEUED for row in rows):
        servers = None
    elif servers is None:
        servers = openings()
    places = _places(servers) if servers else {}
    found = {}
    for row in rows:
        place, low_s, high_s, back_ahead = places.get(row.pk, (None, None, None, False))
        shut = servers.shut(row.course_id, row.step) if servers and row.state == State.QUEUED else None
        found[row.pk] = Status(
            state=State(row.state),
            version=row.version,
            reason=row.reason,
            place=place,
            ahead=None if place is None else place - 1,
            wait_low_s=low_s,
            wait_high_s=high_s,
            returned=row.returned,
            back_ahead=back_ahead,
            practice=row.practice,
            round_number=vars(row)["round_number"],
            run_number=vars(row)["run_number"],
            cancel_requested=row.cancel_requested,
            why=str(shut.why) if shut else "",
            why_note=shut.note if shut else "",
            why_until=written(shut.until, row.course.zone) if shut and shut.until else "",
            **_partner(row),
        )
    return found


def _partner(row: Attempt) -> dict[str, str]:
    if row.state != State.QUEUED or row.pair_id is None:
        return {}
    if row.rides_on_id is not None:
        return {"partner": "shared"}
    if row.partner_until is None or row.partner_until <= timezone.now():
        return {}
    until = local_of(row.partner_until, row.course.zone)
    return {"partner": "awaited", "partner_until": f"{until:%H:%M:%S}"}


Places = dict[UUID, tuple[int, int | None, int | None, bool]]


@dataclass(frozen=True, slots=True)
class _Line:
    """One that waits or runs. `usable`: ids of the endpoints that take it now."""

    pk: UUID
    runs: bool
    ms: float
    practice: bool
    returned: bool
    usable: frozenset[int]


def _places(servers: Openings) -> Places:
    """Attempt -> (place, low, high, whether one that returned is before it) of the whole queue: first come, first
    served, and practice last, counted for itself. Who waits for a step that is paused on every server has no place:
    nobody is behind them. A booking parts the queue: who may use none of my servers is not before me."""
    newest = Round.objects.filter(attempt=OuterRef("pk")).order_by("-number").values("submit_key")[:1]
    rows = list(
        Attempt.objects.in_line()
        .filter(state__in=[State.QUEUED, State.RUNNING])
        .annotate(submit_key=Subquery(newest))
        .order_by("practice", F("queued_at").asc(nulls_last=True), "pk")
        .values_list("pk", "state", "submit_key", "step", "practice", "returned", "course_id")
    )
    cost_ms = _server_ms({row[2] for row in rows if row[2]})
    paused = closed_steps(servers.answering)
    up = {course_id: servers.up_for(course_id) for course_id in {row[-1] for row in rows}}
    lines = [
        _Line(pk, state == State.RUNNING, cost_ms.get(key, 0.0), practice, returned, up[course_id])
        for pk, state, key, step, practice, returned, course_id in rows
        if state == State.RUNNING or step not in paused
    ]
    pace = _pace(servers.answering) if any(up.values()) else Pace()
    found: Places = {}
    for usable in {line.usable for line in lines if not line.runs}:
        found |= _places_at(usable, lines, pace)
    return found


def _places_at(usable: frozenset[int], lines: Sequence[_Line], pace: Pace) -> Places:
    """Of those who may use just these endpoints, among all who may use one of them."""
    rivals = [line for line in lines if line.usable & usable or line.usable == usable]
    queued = [line for line in rivals if not line.runs]
    graded = sum(not line.practice for line in queued)
    waits: Iterable[tuple[int | None, int | None]] = [(None, None)] * len(queued)
    if usable:
        running_ms = [line.ms for line in rivals if line.runs]
        waits = waits_s([line.ms for line in queued], running_ms, len(usable), pace)
    first_back = next((place for place, line in enumerate(queued, 1) if line.returned), len(queued))
    return {
        line.pk: (place - graded if line.practice else place, *wait_s, place > first_back)
        for place, (line, wait_s) in enumerate(zip(queued, waits, strict=True), 1)
        if line.usable == usable
    }


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
