"""Which way of leaving stops the server? Faults and evidence over a whole run of cut and held asks."""

from __future__ import annotations

from labs.grading.freed import Cut, not_freed, ran_to_end, read_cut, slot_row, still_busy
from labs.grading.sane import Fault, alone, first_fault
from labs.measure.recording import RunRecord
from labs.text import N_, Json, Text


def cut_of(run: RunRecord, key: str, allowed: int) -> Cut:
    return read_cut(run[key], allowed, run.server)


def cut_fault(run: RunRecord, key: str, allowed: int) -> Fault | None:
    return first_fault(alone(run), not_freed(run[key], cut_of(run, key, allowed)))


def saved(run: RunRecord, key: str, allowed: int) -> int | None:
    """Of the allowed tokens, how many the server did not write."""
    written = cut_of(run, key, allowed).written
    return None if written is None else allowed - written


def way_fault(run: RunRecord, way: str, allowed: int, broken_off: int) -> Fault | None:
    """Why this run does not show what `way` (close, leave, break, stall) does; None where it does.

    'It stops' needs the held twin that was still busy; 'it runs on' needs a close in the same run that stopped.
    `broken_off` is the `max_tokens` of the ask that was broken off.
    """
    close = cut_fault(run, "close", allowed)
    busy = still_busy(run["stall"], run.get("look-again"))
    match way:
        case "close" | "leave":
            return first_fault(cut_fault(run, way, allowed), busy)
        case "break":
            return first_fault(alone(run), ran_to_end(run["break"], broken_off, run.get("break-end")), close)
        case "stall":
            return first_fault(alone(run), busy, close)
    raise ValueError(way)


def how_it_went(run: RunRecord, key: str, cut: Cut, guess: int) -> Text:
    """One sentence on a cut ask beside the student's guess of the tokens it had written."""
    facts = {
        "guess": guess,
        "freed": round((cut.freed_us or 0) / 1000),
        "limit": round(cut.limit_us / 1000),
        "after": cut.after_cut or 0,
    }
    if cut.phase == "prefill":
        return N_(
            "You guessed %(guess)s tokens; it was still reading the prompt and had written none. The slot was free "
            "%(freed)s ms after the close (expected within %(limit)s ms), after %(after)s more tokens of work.",
            **facts,
        )
    return N_(
        "You guessed %(guess)s tokens; it had written %(shown)s. The slot was free %(freed)s ms after the close "
        "(expected within %(limit)s ms), after %(after)s more tokens of work.",
        shown=run[key].figures.predicted_n or 0,
        **facts,
    )


def cut_evidence(run: RunRecord, key: str, allowed: int) -> Json:
    ask, cut = run[key], cut_of(run, key, allowed)
    return {
        "saw": {
            **cut.to_json(),
            "n": ask.n,
            "ttft_us": ask.figures.ttft_us,
            "predicted_n": ask.figures.predicted_n,
            "prompt_tokens_after": ask.prompt_tokens_after,
            "id_task": ask.id_task,
            "log_cancel": ask.log_cancel,
            "log_readable": ask.log_readable,
        },
        "rule": N_("our task gone from /slots, before the answer's natural end").to_json(),
        "limit": {"us": cut.limit_us, "allowed_tokens": allowed},
    }


def control_evidence(run: RunRecord) -> Json:
    """The held twin when we looked again, and how long the next turn waited on either slot."""
    row = slot_row(run.get("look-again"), run["stall"].slot)
    return {
        "twin": {name: row.get(name) for name in ("id_task", "is_processing", "n_prompt_tokens")},
        "twin_id_task": run["stall"].id_task,
        "twin_closed_us": run["stall"].closed_us,
        "same_slot_waited_us": run["same"].figures.headers_us,
        "other_slot_waited_us": run["other"].figures.headers_us,
    }
