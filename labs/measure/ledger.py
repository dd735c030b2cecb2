"""Did anybody else make the server compute? The deltas of `/metrics` against the sum of our asks (DESIGN
6.5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from labs.measure.recording import Recording


class Counters(Protocol):
    """Since the server started: prompt tokens computed, and prompt tokens taken from the cache."""

    @property
    def prompt_tokens(self) -> int: ...
    @property
    def cached_tokens(self) -> int: ...


Range = tuple[int, int]  # both included


def cost(recording: Recording) -> tuple[Range, Range]:
    """What one ask adds to (prompt, cached), as ranges; one value where we can know it exactly.

    An ask that ended by itself, or was cut in decode, adds what its last `timings` say. One cut in prefill
    adds the `cache` of its first progress event and `n_prompt_tokens` after release minus that
    (measuring.md 6). Where the slot was never seen released, anything between the last `processed` and the
    whole prompt is possible.
    """
    figures = recording.figures
    if figures.end == "rejected":
        return (0, 0), (0, 0)
    if figures.prompt_n is not None and figures.cache_n is not None:
        return (figures.prompt_n, figures.prompt_n), (figures.cache_n, figures.cache_n)
    cached = figures.progress_cache
    if cached is None:
        # Nothing came: it may have been computed, or never have left the server's queue.
        return (0, recording.n), (0, recording.n)
    after = recording.prompt_tokens_after
    if after is not None:
        # One that wrote before we looked holds its answer too; those tokens are no prompt.
        computed = min(after, recording.n) - cached
        return (computed, computed), (cached, cached)
    return ((figures.progress_processed or cached) - cached, recording.n - cached), (
        cached,
        cached,
    )


def agrees(before: Counters | None, after: Counters | None, asks: Iterable[Recording]) -> bool | None:
    """True: the deltas are exactly ours. False: they cannot be. None: no `/metrics`, or an ask whose cost
    is known as a range only and the deltas lie within it."""
    if before is None or after is None:
        return None
    deltas = (
        after.prompt_tokens - before.prompt_tokens,
        after.cached_tokens - before.cached_tokens,
    )
    costs = [cost(recording) for recording in asks]
    exact = True
    for which, delta in enumerate(deltas):
        low = sum(pair[which][0] for pair in costs)
        high = sum(pair[which][1] for pair in costs)
        if not low <= delta <= high:
            return False
        exact = exact and low == high
    return True if exact else None
