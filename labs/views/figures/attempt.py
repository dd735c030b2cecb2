"""The drawings of a whole attempt, as its step asks for them (`Step.shows`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from labs.measure.recording import Recording, RunRecord
from labs.steps.base import Seen, Step
from labs.views.figures.cost import cost_plot
from labs.views.figures.plot import Plot
from labs.views.figures.reuse import reuse_plot
from labs.views.figures.slots import slots_plot
from labs.views.figures.voice import Voice, voice_timeline


@dataclass(frozen=True, slots=True)
class RanRound:
    """A round whose run was accepted; `titles` by the ask's key."""

    key: str
    number: int
    record: RunRecord
    titles: Mapping[str, str]

    @property
    def asks(self) -> list[Recording]:
        return [r for r in self.record.recordings.values() if r.kind == "ask"]

    @property
    def titled(self) -> list[tuple[str, Recording]]:
        return [(self.titles.get(ask.key, ask.key), ask) for ask in self.asks]


def plots_of(step: Step, rounds: Sequence[RanRound], seen: Seen | None) -> list[Plot]:
    """Without `seen` nothing is drawn of what the student had predicted."""
    return [plot for plot in _plots(step, rounds, seen) if plot is not None]


def _plots(step: Step, rounds: Sequence[RanRound], seen: Seen | None) -> Iterator[Plot | None]:
    if "cost" in step.shows and rounds:
        said = [pair for ran in rounds for pair in _said(step, ran, seen)] if seen is not None else []
        yield cost_plot([ran.asks for ran in rounds], said)
    if "reuse" in step.shows:
        yield reuse_plot([(ran.number, ran.titled) for ran in rounds])
    if "slots" in step.shows:
        for ran in rounds:
            yield slots_plot(ran.number, list(ran.record.recordings.values()), ran.titles)


def voice_of(step: Step, rounds: Sequence[RanRound]) -> Voice | None:
    if "voice" not in step.shows:
        return None
    return voice_timeline([pair for ran in rounds for pair in ran.titled])


def _said(step: Step, ran: RanRound, seen: Seen) -> Iterator[tuple[Recording, float]]:
    upto = Seen(list(seen.items())[: ran.number])
    for key, told_ms in step.round(ran.key).predicted_ttft_ms(upto).items():
        if (ask := ran.record.get(key)) is not None:
            yield ask, told_ms
