"""What can be made to go wrong while it runs. `POST /fake/faults` takes the whole list as JSON, `GET` tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

Kind = Literal[
    "die",  # in `phase` after `after` batches or tokens; `how`: exit (the process), reset, eof
    "wedge",  # the main loop stands still in `phase` after `after`; /health stays green, /slots hangs
    "stream_error",  # an error event after `after` tokens, then the end without [DONE]
    "buffer",  # nothing leaves before the end; `how` body: nothing but the headers
    "deaf",  # does not notice a closed connection
    "overflow",  # 400, whatever the prompt
    "unauthorised",  # 401
    "loading",  # 503; `how`: error (today's shape) or status (the older one)
    "no_slots",  # 501
    "no_metrics",  # 501
    "slow_slots",  # `seconds`
    "host_cache",  # prompts that left a slot come back
    "stranger",  # somebody else's request on `slot` once the next chat has ended; `how` now: at once
    "answer",  # no fault: says `text`
]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(slots=True)
class Fault:
    """`skip` requests of its sort pass first, then it meets `times` of them; None is all of them."""

    kind: Kind
    phase: Literal["prefill", "decode"] = "decode"
    after: int = 1
    how: str = ""
    slot: int = 0
    tokens: int = 20  # of a stranger's prompt, and half as many of its answer
    seconds: float = 1.0
    text: str = ""
    skip: int = 0
    times: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"no fault is called {self.kind!r}")


class Faults:
    """The faults in force. Each request asks for those of its sort, and thereby uses them up."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def replace(self, faults: Sequence[Fault]) -> None:
        self._faults = list(faults)

    def rows(self) -> list[dict[str, Any]]:
        return [asdict(fault) for fault in self._faults]

    def take(self, *kinds: Kind) -> dict[Kind, Fault]:
        """The faults of these kinds that meet this request."""
        found: dict[Kind, Fault] = {}
        for fault in self._faults:
            if fault.kind not in kinds or fault.times == 0:
                continue
            if fault.skip:
                fault.skip -= 1
                continue
            if fault.times is not None:
                fault.times -= 1
            found[fault.kind] = fault
        return found

    def has(self, kind: Kind) -> bool:
        """Whether it is in force, without using it up."""
        return any(fault.kind == kind and fault.times != 0 for fault in self._faults)


def faults_of(rows: object) -> list[Fault]:
    """From JSON. Raises ValueError with a sentence."""
    known = {field.name for field in fields(Fault)}
    if not isinstance(rows, list):
        raise ValueError("a list of faults is wanted")
    for row in rows:
        if not isinstance(row, dict) or "kind" not in row or row.keys() - known:
            raise ValueError(f"a fault has a kind and some of {', '.join(sorted(known))}, not {row!r}")
    return [Fault(**row) for row in rows]
