"""The voice timeline: when the mouth would open, serial and streaming, beside the client's own two turns. Modelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from labs.measure.answer import sentences_of
from labs.measure.recording import Recording
from labs.measure.speech import (
    CLIENT_FIVE_SENTENCES_MS,
    CLIENT_MODEL_MS,
    CLIENT_TURN,
    Timeline,
    client_sentences,
    serial,
    spoken,
    streaming,
)
from labs.text import N_
from labs.views.figures.scale import Bar, bar
from labs.views.words import ms, say, seconds_short

LANES = (
    ("asr", N_("ASR (modelled)")),
    ("model", N_("model (measured)")),
    ("tts", N_("TTS (modelled)")),
    ("opens", N_("the mouth opens")),
)


@dataclass(frozen=True, slots=True)
class VoiceLane:
    title: str
    bars: Sequence[Bar]
    opens: str
    whose: str  # "client" or "own"


@dataclass(frozen=True, slots=True)
class Voice:
    lanes: Sequence[VoiceLane]
    sentence: str
    longest: str

    @property
    def legend(self) -> list[tuple[str, str]]:
        return [(kind, say(word)) for kind, word in LANES]


@dataclass(frozen=True, slots=True)
class _Turn:
    title: str
    whose: str
    timeline: Timeline


def voice_timeline(asks: Sequence[tuple[str, Recording]]) -> Voice | None:
    """`asks` are (title, recording). Answers that were read to their end count; where none of those holds a sentence,
    the longest of the others as far as it was written. None without any ask."""
    if not asks:
        return None
    own = [turn for title, ask in asks if ask.figures.end == "done" for turn in _own(title, ask)]
    if not own:
        broken_off = [list(_own(title, ask)) for title, ask in asks]
        own = max(broken_off, key=lambda turns: turns[0].timeline.stretches[-1].end_ms if turns else 0)
    five = client_sentences(5)
    turns = [
        _Turn(_("LabHub's turn, serial"), "client", serial(CLIENT_TURN, model_ms=CLIENT_MODEL_MS)),
        _Turn(_("LabHub's five sentences, serial"), "client", serial(five, model_ms=five[-1].ready_ms)),
        *own,
    ]
    longest_ms = max(turn.timeline.stretches[-1].end_ms for turn in turns)
    return Voice([_lane(turn, longest_ms) for turn in turns], _sentence(own), seconds_short(longest_ms))


def _own(title: str, ask: Recording) -> Iterator[_Turn]:
    answer = [spoken(sentence) for sentence in sentences_of(ask)]
    written_us = ask.figures.last_token_us
    if not answer or written_us is None:
        return
    model_ms = round(written_us / 1000)
    yield _Turn(_("%(title)s, serial") % {"title": title}, "own", serial(answer, model_ms=model_ms))
    yield _Turn(_("%(title)s, streaming") % {"title": title}, "own", streaming(answer, model_ms=model_ms))


def _lane(turn: _Turn, longest_ms: int) -> VoiceLane:
    bars = [
        bar(stretch.lane, stretch.start_ms, stretch.end_ms, longest_ms, ms(stretch.end_ms - stretch.start_ms))
        for stretch in turn.timeline.stretches
    ]
    opens_ms = turn.timeline.opens_ms
    bars.append(bar("opens", opens_ms, opens_ms, longest_ms, _("the mouth opens")))
    return VoiceLane(turn.title, bars, seconds_short(turn.timeline.opens_ms), turn.whose)


def _sentence(own: Sequence[_Turn]) -> str:
    """About the first answer; the client's figures stand beside it."""
    if not own:
        return _("No answer here holds a whole sentence, so only LabHub's turns are drawn.")
    one, other = own[0].timeline.opens_ms, own[1].timeline.opens_ms
    return _(
        "With your first answer the mouth opens after %(serial)s when the whole answer is spoken at once, and after "
        "%(streaming)s when its first sentence is. LabHub's turn took %(labhub)s, five sentences %(five)s."
    ) % {
        "serial": seconds_short(one),
        "streaming": seconds_short(other),
        "labhub": seconds_short(serial(CLIENT_TURN, model_ms=CLIENT_MODEL_MS).opens_ms),
        "five": seconds_short(CLIENT_FIVE_SENTENCES_MS),
    }
