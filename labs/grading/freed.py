"""Did closing free the slot? By the server's own counters and `/slots`, never by time alone (DESIGN 6.6, 6.7)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from labs.grading.sane import Fault
from labs.measure.pace import Pace
from labs.measure.prefix import SLACK_TOKENS
from labs.measure.recording import Recording, ServerFacts
from labs.text import N_, Json


@dataclass(frozen=True, slots=True)
class Cut:
    """What became of one ask that we closed. Tokens unless the name says microseconds; None where not known.

    `written` counts all tokens of the answer, `after_cut` the work (prompt or answer tokens) done after the close.
    `stopped_early`: the server ended before the natural end that the ask allowed.
    """

    phase: Literal["decode", "prefill"]
    closed_us: int | None
    freed_us: int | None
    limit_us: int
    written: int | None
    after_cut: int | None
    stopped_early: bool | None

    def to_json(self) -> Json:
        return asdict(self)


def read_cut(recording: Recording, max_tokens: int, server: ServerFacts) -> Cut:
    """The cut's figures. In prefill also when no byte had come: then the work counts from the prompt's start."""
    seen = recording.figures
    decoding = seen.first_generated_us is not None
    closed_us, after = recording.closed_us, recording.prompt_tokens_after
    if closed_us is not None and recording.deadline_us is not None:
        limit_us = recording.deadline_us - closed_us
    else:
        limit_us = Pace(server).allowance_us(in_decode=decoding, n=recording.n)
    written = after_cut = None
    stopped_early = None
    if after is not None and recording.n:
        written = max(after - recording.n, 0)
        stopped_early = written < max_tokens - SLACK_TOKENS
        done = (
            recording.n + (seen.predicted_n or 0)
            if decoding
            else seen.progress_processed or seen.progress_cache or 0
        )
        after_cut = max(after - done, 0)
    freed_us = None
    if recording.idle_us is not None and closed_us is not None:
        freed_us = max(recording.idle_us - closed_us, 0)
    return Cut(
        phase="decode" if decoding else "prefill",
        closed_us=closed_us,
        freed_us=freed_us,
        limit_us=limit_us,
        written=written,
        after_cut=after_cut,
        stopped_early=stopped_early,
    )


def not_freed(recording: Recording, cut: Cut) -> Fault | None:
    """None: the slot was freed by the close. Freed late but early in tokens is freed, with the figure shown."""
    if cut.closed_us is None:
        return Fault(N_("The request had ended by itself before it could be closed."))
    if not recording.samples:
        return Fault(
            N_("The server's /slots could not be read, so nobody can see whether the slot fell idle.")
        )
    if cut.freed_us is None:
        return Fault(
            N_(
                "The slot was never seen idle after the close: this server may not notice a closed connection."
            )
        )
    if cut.stopped_early is None:
        return Fault(
            N_("The server does not say how many tokens its slot holds, so the work cannot be counted.")
        )
    if not cut.stopped_early:
        return Fault(N_("The server wrote its whole answer although the connection was closed."))
    return None


def slot_row(look: Recording | None, slot: int) -> dict[str, Any]:
    """One slot's row of a recorded `/slots`; {} where it was not read or has no such slot."""
    try:
        rows = json.loads(look.body) if look is not None and look.body else []
    except ValueError:
        return {}
    return next((row for row in rows if isinstance(row, dict) and row.get("id") == slot), {})


def still_busy(twin: Recording, look: Recording | None) -> Fault | None:
    """The control: the ask that is held open but not read must still keep its slot busy when we look."""
    row = slot_row(look, twin.slot)
    if not row:
        return Fault(N_("The server's /slots could not be read while the held request was open."))
    if twin.id_task is None or row.get("id_task") != twin.id_task or row.get("is_processing") is not True:
        return Fault(
            N_("The held request had already ended when we looked, so there is nothing to compare with.")
        )
    return None


def ran_to_end(recording: Recording, max_tokens: int, look: Recording | None) -> Fault | None:
    """An ask whose connection stays open, unread: the server must have written all that was allowed."""
    if recording.figures.end != "held":
        return Fault(N_("The request had ended by itself before the loop was left."))
    if look is None or look.idle_us is None:
        return Fault(N_("The unread request was still being answered when we stopped waiting for its end."))
    after = recording.prompt_tokens_after
    if after is None:
        row = slot_row(look, recording.slot)
        ours = row.get("id_task") == recording.id_task and row.get("is_processing") is False
        after = row.get("n_prompt_tokens") if ours else None
    if after is None or not recording.n:
        return Fault(
            N_("The server does not say how many tokens its slot holds, so the work cannot be counted.")
        )
    if after - recording.n < max_tokens - SLACK_TOKENS:
        return Fault(
            N_(
                "The unread request stopped after %(written)s of %(allowed)s tokens, though it was still connected.",
                written=after - recording.n,
                allowed=max_tokens,
            )
        )
    return None
