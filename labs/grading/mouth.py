"""When a voice may begin to speak, how many sentences an answer has, and what a cap and a clip leave of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from labs.llama.errors import BadFrame
from labs.measure.opening import ended_itself
from labs.measure.pieces import read_pieces
from labs.measure.recording import Figures, Recording
from labs.measure.sentences import clip, split_pieces, teaching_first, tokens_to_sentence
from labs.measure.sentences.chars import STOPS, is_said, is_tail

WANTED = 3  # 'exactly three sentences'
# A cap may leave this much more room than the third sentence needs (lab.md 7).
ROOM = 1.5


@dataclass(frozen=True, slots=True)
class Opening:
    """Places of a text's characters, `last` included: any mark between them is right, from the stop to the next
    visible character, or to the text's end. `teaching_end` is where the handout's rule ends its first sentence."""

    first: int
    last: int
    teaching_end: int
    end: int

    def holds(self, mark: int) -> bool:
        return self.first <= mark <= self.last

    @property
    def teaching_cuts(self) -> bool:
        """The handout's rule (a stop, then white space) would speak before the sentence is over."""
        return self.teaching_end < self.end


def opening_of(text: str, *, ended: bool = True) -> Opening | None:
    """By the graded rule; None where no sentence was finished."""
    found = split_pieces([(text, 0)], ended=ended)
    if not found:
        return None
    end = found[0].end
    first = end
    while first > 0 and is_tail(text[first - 1]):
        first -= 1
    while first < end and text[first] not in STOPS:
        first += 1
    # The end of a line, or of the stream, may end a sentence without a stop: then its last character is the place.
    first = min(first, end - 1)
    last = next((place for place in range(end, len(text)) if not text[place].isspace()), len(text))
    teaching = teaching_first([(text, 0)], ended=ended)
    return Opening(first, last, teaching.end if teaching else len(text), end)


class Kept(StrEnum):
    """What became of 'exactly three sentences'."""

    KEPT = "kept"
    ONE = "one"
    OTHER = "other"
    LIST = "list"
    MORE = "more"
    CUT = "cut"


_NUMBERED = re.compile(r"^\s*[*_]*\(?\d{1,2}[.)]", re.MULTILINE)


def kept_of(figures: Figures) -> Kept:
    """A list before all else: its items are no sentences of an answer. What `max_tokens` cut counts as cut, unless
    there was more than three already."""
    ended = ended_itself(figures.end, figures.finish_reason)
    found = split_pieces([(figures.text, 0)], ended=ended)
    count = len(found)
    rest = figures.text[found[-1].end :] if found else figures.text
    if len(_NUMBERED.findall(figures.text)) > 1:
        return Kept.LIST
    if count > WANTED or (count == WANTED and any(map(is_said, rest))):
        return Kept.MORE
    if not ended:
        return Kept.CUT
    return {WANTED: Kept.KEPT, 1: Kept.ONE}.get(count, Kept.OTHER)


@dataclass(frozen=True, slots=True)
class Caps:
    """Which caps are right for an answer, in tokens: from the end of its first sentence (`low`) to 1.5 times those to
    the end of its third (`third`), or of the whole answer where it has fewer."""

    low: int
    third: int

    @property
    def high(self) -> int:
        return int(ROOM * self.third)

    def holds(self, cap: int) -> bool:
        return self.low <= cap <= self.high


# (text, the server's tokens); None where the server did not count them.
Counted = Sequence[tuple[str, int | None]]


def counted(recording: Recording) -> list[tuple[str, int | None]]:
    """Each piece of an answer with its tokens, from its frames; [] where they are gone or broken."""
    try:
        return [(piece.text, piece.tokens) for piece in read_pieces(recording.frames)]
    except BadFrame:
        return []


def ended(recording: Recording) -> bool:
    """The answer ended by itself, so its end ends a sentence."""
    return ended_itself(recording.figures.end, recording.figures.finish_reason)


def caps_of(pieces: Counted, *, ended: bool) -> Caps | None:
    """None without a finished sentence, or where the server did not count each piece's tokens."""
    known = [(text, tokens) for text, tokens in pieces if tokens is not None]
    if len(known) < len(pieces):
        return None
    low = tokens_to_sentence(known, 1, ended=ended)
    if low is None:
        return None
    third = tokens_to_sentence(known, WANTED, ended=ended)
    return Caps(low, third if third is not None else sum(tokens for _, tokens in known))


def capped(pieces: Counted, cap: int) -> str:
    """The text that `max_tokens` would have left."""
    used = accumulate(tokens or 0 for _, tokens in pieces)
    return "".join(text for (text, _), tokens in zip(pieces, used, strict=True) if tokens <= cap)


def spoken(pieces: Counted, cap: int, sentences: int, *, ended: bool) -> str:
    """What code would have said: capped by tokens, clipped to whole sentences. What the cap cut in two is dropped."""
    text = capped(pieces, cap)
    whole = ended and text == "".join(text for text, _ in pieces)
    found = split_pieces([(text, 0)], ended=whole)[:sentences]
    return clip(text[: found[-1].end], sentences) if found else ""
