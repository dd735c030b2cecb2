"""The waterfall of a run: how long it waited before it was sent, and what each request's time went into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from labs.measure.answer import first_sentence_us
from labs.measure.recording import Recording
from labs.measure.waterfall import PHASES, Phase, Stretch, waterfall
from labs.text import N_, Text
from labs.views.figures.scale import Bar, bar
from labs.views.words import NONE, say, us

PHASE_WORDS: Mapping[Phase, Text] = {
    "connect": N_("connect"),
    "wait": N_("wait in the server"),
    "prefill": N_("prefill"),
    "first_token": N_("first token"),
    "first_sentence": N_("first sentence"),
    "rest": N_("rest"),
}


@dataclass(frozen=True, slots=True)
class Lane:
    """`cells` are the phases' lengths as text, in the order of `Waterfall.head`."""

    title: str
    bars: Sequence[Bar]
    cells: Sequence[str]
    total: str


@dataclass(frozen=True, slots=True)
class Waterfall:
    """`queue` and `lease` came before the first request; NONE where an older run does not know."""

    queue: str
    lease: str
    lanes: Sequence[Lane]
    longest: str
    sentence: str

    @property
    def head(self) -> list[tuple[Phase, str]]:
        return [(phase, say(PHASE_WORDS[phase])) for phase in PHASES]


def run_waterfall(
    asks: Sequence[tuple[str, Recording]], queued_at: datetime, started_at: datetime, lease_us: int | None
) -> Waterfall | None:
    """`asks` are (title, recording) in the order of the plan. `queued_at` is when the run began to wait."""
    falls = [(title, ask, waterfall(ask, first_sentence_us(ask))) for title, ask in asks]
    falls = [fall for fall in falls if fall[2]]
    if not falls:
        return None
    before_us = max(-stretches[0].start_us for _title, _ask, stretches in falls)
    longest_us = max(stretches[-1].end_us for _title, _ask, stretches in falls) + before_us
    queue_us = max((started_at - queued_at).total_seconds(), 0) * 1e6
    return Waterfall(
        queue=us(queue_us),
        lease=us(lease_us),
        lanes=[_lane(title, stretches, before_us, longest_us) for title, _ask, stretches in falls],
        longest=us(longest_us),
        sentence=_sentence(falls),
    )


def _lane(title: str, stretches: Sequence[Stretch], before_us: int, longest_us: int) -> Lane:
    lengths = {stretch.phase: stretch.length_us for stretch in stretches}
    return Lane(
        title=title,
        bars=[
            bar(
                stretch.phase,
                stretch.start_us + before_us,
                stretch.end_us + before_us,
                longest_us,
                f"{say(PHASE_WORDS[stretch.phase])} {us(stretch.length_us)}",
            )
            for stretch in stretches
            if stretch.length_us
        ],
        cells=[us(lengths[phase]) if phase in lengths else NONE for phase in PHASES],
        total=us(stretches[-1].end_us),
    )


def _sentence(falls: Sequence[tuple[str, Recording, Sequence[Stretch]]]) -> str:
    """About the request that let its reader wait longest for a first token."""
    waited = [fall for fall in falls if fall[1].figures.ttft_us is not None]
    if not waited:
        return _("No request came to its first token.")
    title, ask, stretches = max(waited, key=lambda fall: fall[1].figures.ttft_us or 0)
    lengths = {stretch.phase: stretch.length_us for stretch in stretches}
    return _(
        "The longest wait for a first token was %(ttft)s (%(title)s): %(wait)s waiting in the server, %(prefill)s "
        "prefill, %(rest)s until the text was here."
    ) % {
        "title": title,
        "ttft": us(ask.figures.ttft_us),
        "wait": us(lengths.get("wait")),
        "prefill": us(lengths.get("prefill")),
        "rest": us(lengths.get("first_token")),
    }
