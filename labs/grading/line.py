"""TTFT against prompt tokens: the line through the fastest repeats of two sizes, and predictions made from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from labs.grading.sane import Fault, first_fault, ours, uncached, undisturbed, whole
from labs.grading.split import no_first_token
from labs.measure.recording import Recording, RunRecord
from labs.measure.stats import Line, Point, line_through_minima
from labs.text import N_, Json, Text

# lab.md 4: how far a prediction may lie from the line, and the line's slope from the endpoint's own fastest.
PREDICTION_SHARE = 0.15
SLOPE_LEAST, SLOPE_MOST = 0.7, 1.5
# Closer than this to a multiple of a measured TTFT, a wrong prediction was that multiple.
MULTIPLE_SHARE = 0.03


NOT_SLOWER = Fault(N_("Twelve documents were not slower than four: the machine was too busy to measure."))


def measured_fault(run: RunRecord, asks: Sequence[Recording]) -> Fault | None:
    """Cold asks with the cache off, alone on the server, each with a first token."""
    return first_fault(
        undisturbed(run), *(f(ask) for ask in asks for f in (ours, whole, uncached)), no_first_token(*asks)
    )


def figures_of(asks: Sequence[Recording]) -> Json:
    return {
        ask.key: {
            "prompt_n": ask.figures.prompt_n,
            "cache_n": ask.figures.cache_n,
            "ttft_us": ask.figures.ttft_us,
            "prompt_ms": ask.figures.prompt_ms,
        }
        for ask in asks
    }


def points(asks: Iterable[Recording]) -> list[Point]:
    """(`prompt_n`, TTFT in ms) of the asks that have both."""
    return [
        (seen.prompt_n, seen.ttft_us / 1000)
        for seen in (ask.figures for ask in asks)
        if seen.prompt_n is not None and seen.ttft_us is not None
    ]


def fastest_ms(asks: Iterable[Recording]) -> float | None:
    return min((ms for _n, ms in points(asks)), default=None)


def line_through(small: Iterable[Recording], large: Iterable[Recording]) -> Line | None:
    return line_through_minima(points(small), points(large))


def crooked(run: RunRecord, line: Line | None) -> Fault | None:
    """A slope that this machine cannot have shows a disturbed stopwatch, and nothing can be predicted from it."""
    if line is None or line.slope <= 0:
        return Fault(
            N_("The longer prompt was not slower than the shorter one: the machine was too busy to measure.")
        )
    known = run.server.prompt_ms_per_token
    if known is None or SLOPE_LEAST * known <= line.slope <= SLOPE_MOST * known:
        return None
    return Fault(
        N_(
            "Your two fastest runs give %(slope)s ms a token, and this server is known for %(known)s: the machine was "
            "too busy to measure.",
            slope=round(line.slope, 2),
            known=round(known, 2),
        )
    )


def near(said_ms: float, right_ms: float, share: float = PREDICTION_SHARE) -> bool:
    return abs(said_ms - right_ms) <= share * abs(right_ms)


def why_off(said_ms: float, right_ms: float, times: int, measured_ms: Sequence[float]) -> Text:
    """`times`: how many times as many documents as those that took `measured_ms`."""
    if any(near(said_ms, times * ms, MULTIPLE_SHARE) for ms in measured_ms):
        return N_(
            "You multiplied the TTFT of the smaller prompt by the number of documents. The rule, the question and "
            "the template stand in a prompt once, however many documents there are: your own line gives %(right)s ms.",
            right=round(right_ms),
        )
    return N_(
        "You predicted %(said)s ms; the line through your two fastest runs gives %(right)s ms for so many tokens. "
        "Predict along that line.",
        said=said_ms,
        right=round(right_ms),
    )
