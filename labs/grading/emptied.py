"""Send, repeat, empty the slot, send again: what must hold before the last one proves anything (lab.md 5)."""

from __future__ import annotations

import json

from labs.grading.sane import Fault, alone, cold, first_fault, hit, ours, served, whole
from labs.measure.recording import Recording, RunRecord
from labs.text import N_


def repeat_fault(run: RunRecord, first: Recording, repeat: Recording) -> Fault | None:
    """A cold ask and an identical repeat that hit, with nobody in between."""
    return first_fault(
        alone(run),
        *(f(ask) for ask in (first, repeat) for f in (ours, whole)),
        cold(first, run),
        served(repeat, first, run),
        hit(repeat),
    )


def emptied_fault(run: RunRecord, first: str, repeat: str, erase: str, again: str) -> Fault | None:
    """The repeat hit, the slot was emptied, and the ask after that found nothing."""
    last = run[again]
    return first_fault(
        repeat_fault(run, run[first], run[repeat]),
        erased(run[erase]),
        ours(last),
        whole(last),
        nothing_left(last),
    )


def erased(recording: Recording) -> Fault | None:
    if tokens_erased(recording) is None:
        return Fault(
            N_(
                "This server cannot empty a slot: it was started without --slot-save-path, so nothing can be shown."
            )
        )
    return None


def tokens_erased(recording: Recording) -> int | None:
    """How many tokens the server says it forgot; None where it did not."""
    try:
        said = json.loads(recording.body)
    except ValueError:
        return None
    count = said.get("n_erased") if isinstance(said, dict) else None
    return count if type(count) is int else None


def nothing_left(recording: Recording) -> Fault | None:
    cache_n = recording.figures.cache_n
    if cache_n != 0:
        return Fault(
            N_(
                "The slot had been emptied, yet the server took %(cache_n)s tokens from a cache: it keeps old prompts "
                "elsewhere.",
                cache_n=-1 if cache_n is None else cache_n,
            )
        )
    return None


def more_than(run: RunRecord, more: str, less: str) -> int | None:
    """`prompt_n` of one ask less that of another; None where the server did not say."""
    large, small = run[more].figures.prompt_n, run[less].figures.prompt_n
    return None if large is None or small is None else large - small
