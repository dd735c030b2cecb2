"""Is the server sane? Preconditions of every claim (DESIGN 6.2 to 6.5): where one does not hold, nobody fails."""

from __future__ import annotations

from dataclasses import dataclass

from labs.measure.prefix import SLACK_TOKENS, common_prefix, expected_cache
from labs.measure.quota import TOLERATED, stopped_share
from labs.measure.recording import Recording, RunRecord
from labs.text import N_, Text

# Where the run does not say how many tokens the template puts before the lab line: longer than any we know.
HEAD_AT_MOST = 32


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a run proves nothing about the student. `disturbed`: somebody else used the endpoint, or
    a CPU quota stopped it."""

    reason: Text
    disturbed: bool = False


def first_fault(*faults: Fault | None) -> Fault | None:
    return next((fault for fault in faults if fault is not None), None)


def alone(run: RunRecord) -> Fault | None:
    """Nobody but us may have used the endpoint: then its counters speak of our asks. Without `/metrics` this sees only
    strangers in `/slots`."""
    if run.foreign_tasks or run.metrics_agree is False:
        return Fault(
            N_("Somebody else used the model server during this run, so its figures prove nothing."),
            disturbed=True,
        )
    return None


def unstopped(run: RunRecord) -> Fault | None:
    """No CPU quota may have stopped the server or our worker: a stop changes times, and no counter."""
    if stopped_share(run.throttled) > TOLERATED:
        return Fault(
            N_(
                "The machine's CPU limit stopped the model server or our worker, so no time of this run counts."
            ),
            disturbed=True,
        )
    return None


def undisturbed(run: RunRecord) -> Fault | None:
    """What every claim about a time needs."""
    return alone(run) or unstopped(run)


def ours(recording: Recording) -> Fault | None:
    """`/slots` must have shown our task on the slot we asked for."""
    if recording.id_task is None:
        return Fault(N_("The server's /slots did not show our request, so its slot cannot be checked."))
    return None


def whole(recording: Recording) -> Fault | None:
    """An ask that ended by itself: the server's counters must add up to the prompt we tokenised."""
    seen = recording.figures
    if not seen.timings_final or seen.cache_n is None or seen.prompt_n is None:
        return Fault(N_("A request did not reach its own end, so the server's final counters are missing."))
    if seen.cache_n + seen.prompt_n != recording.n:
        return Fault(
            N_(
                "The server counted %(counted)s prompt tokens where its own tokenizer gives %(n)s.",
                counted=seen.cache_n + seen.prompt_n,
                n=recording.n,
            )
        )
    return None


def cold(recording: Recording, run: RunRecord) -> Fault | None:
    """The first ask behind a new lab line may find nothing but the template's head."""
    limit = (HEAD_AT_MOST if run.head_tokens is None else run.head_tokens) + SLACK_TOKENS
    cache_n = recording.figures.cache_n
    if cache_n is None or cache_n > limit:
        return Fault(
            N_(
                "The first request should have been cold, but the server took %(cache_n)s of its tokens from a cache.",
                cache_n=-1 if cache_n is None else cache_n,
            )
        )
    return None


def uncached(recording: Recording) -> Fault | None:
    """With the cache switched off for an ask, the server must compute its whole prompt."""
    if recording.figures.cache_n != 0:
        return Fault(N_("The cache was switched off for this request, but the server used it all the same."))
    return None


def served(recording: Recording, before: Recording, run: RunRecord) -> Fault | None:
    """`cache_n` must lie where the prompt that the slot held last puts it (DESIGN 6.2).

    `before` is the ask that used the slot last and ended by itself. Too little without `/metrics` may be a
    stranger's doing, so the sentence says that nobody can tell.
    """
    if recording.slot != before.slot:
        return Fault(N_("The two requests did not go to the same slot."))
    held, written = (*before.prompt_ids, *before.generated_ids), 0
    if not before.generated_ids:
        written = before.figures.predicted_n or 0
    low, high = expected_cache(recording.prompt_ids, held, written)
    cache_n = recording.figures.cache_n
    if cache_n is not None and low <= cache_n <= high:
        return None
    if cache_n is not None and cache_n > high:
        return Fault(
            N_(
                "The server took %(cache_n)s tokens from a cache, but the prompt before shares only %(high)s with this "
                "one: it keeps old prompts elsewhere.",
                cache_n=cache_n,
                high=high,
            )
        )
    if run.metrics_agree is None:
        return Fault(
            N_(
                "The server reused %(cache_n)s tokens instead of %(low)s, and without /metrics nobody can tell whether "
                "somebody else was there in between.",
                cache_n=cache_n or 0,
                low=low,
            )
        )
    return Fault(
        N_(
            "The server reused only %(cache_n)s tokens where the prompt before shares %(low)s: it does not reuse as "
            "this lab assumes.",
            cache_n=cache_n or 0,
            low=low,
        )
    )


def hit(recording: Recording) -> Fault | None:
    """The control: an identical repeat takes all but its last token from the cache."""
    cache_n = recording.figures.cache_n
    if cache_n is None or cache_n < recording.n - 1 - SLACK_TOKENS:
        return Fault(
            N_(
                "The identical repeat did not hit the cache (%(cache_n)s of %(n)s tokens), so a miss afterwards proves "
                "nothing.",
                cache_n=cache_n or 0,
                n=recording.n,
            )
        )
    return None


def template_changes() -> Fault:
    """The layout is right by its text, yet the rendered prompts part before it says (case B5)."""
    return Fault(
        N_(
            "The documents stand before the clock, yet the prompts part earlier: the server's own template changed "
            "between the two."
        )
    )


def shared(recording: Recording, before: Recording) -> int:
    """The common prefix of two rendered prompts, in tokens."""
    return common_prefix(recording.prompt_ids, before.prompt_ids)
