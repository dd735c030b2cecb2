"""What a server said of itself in a run: `/health`, `/props` and `/slots`, read off the stored bodies."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from labs.grading.sane import Fault
from labs.llama.errors import BadFrame
from labs.llama.facts import Props, Slot, parse_props, parse_slot
from labs.llama.wire import parse_object
from labs.measure.recording import RunRecord
from labs.text import N_, Json


@dataclass(frozen=True, slots=True)
class State:
    """`share_tokens`: what one conversation holds, prompt and answer together. `slots`: how many it answers at once."""

    share_tokens: int
    slots: int

    def waiting(self, students: int) -> int:
        """Of so many at the same moment, how many find no slot free."""
        return max(students - self.slots, 0)

    def to_json(self) -> Json:
        return asdict(self)


def read_state(run: RunRecord) -> State | Fault:
    """`/props` and `/slots` must say the same; a server that contradicts itself teaches nothing."""
    health, props, slots = _health(run), _props(run), _slots(run)
    if health is None:
        return Fault(N_("The server's /health did not say that it is well."))
    if props is None:
        return Fault(N_("The server's /props could not be read, so nobody can see how large a slot is."))
    if not slots:
        return Fault(N_("The server's /slots could not be read, so nobody can count its slots."))
    if len(slots) != props.total_slots or {slot.n_ctx for slot in slots} != {props.n_ctx}:
        return Fault(
            N_("The server's /props and /slots do not agree on how many slots there are and how large.")
        )
    return State(props.n_ctx, props.total_slots)


def _health(run: RunRecord) -> Json | None:
    try:
        found = parse_object(run["health"].body)
    except BadFrame:
        return None
    return found if found.get("status") == "ok" else None


def _props(run: RunRecord) -> Props | None:
    try:
        return parse_props(parse_object(run["props"].body))
    except BadFrame:
        return None


def _slots(run: RunRecord) -> list[Slot]:
    try:
        rows = json.loads(run["slots"].body)
        return [parse_slot(row) for row in rows] if isinstance(rows, list) else []
    except (BadFrame, ValueError):
        return []
