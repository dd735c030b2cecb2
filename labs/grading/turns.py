"""The turns of one conversation: what their layout computed, what the reference layout would have, what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from labs.grading.mouth import counted, ended
from labs.grading.sane import Fault, alone, cold, first_fault, ours, served, whole
from labs.measure.prefix import common_prefix
from labs.measure.prompt_pieces import BadPieces, unpack_pieces
from labs.measure.recording import Recording, RunRecord
from labs.measure.sentences import tokens_to_sentence
from labs.text import N_

# A layout passes with at most this share of what the reference layout computes over turns 2 to 5 (lab.md 9).
SHARE = 0.5
# From this cap on a first sentence that does not end is the model's doing (lab.md 9).
ENOUGH_TOKENS = 48


def computed(turns: Sequence[Recording]) -> list[int]:
    """`prompt_n` of each turn; a turn without counters computed its whole prompt for all we know."""
    return [turn.n if turn.figures.prompt_n is None else turn.figures.prompt_n for turn in turns]


def would_compute(prompts: Sequence[Sequence[int]]) -> list[int]:
    """What a sane server computes of each prompt but the first, when they follow one another in a slot: N - LCP, and
    one token at least. The answers in between are not counted, since none is given."""
    return [max(len(now) - common_prefix(now, before), 1) for before, now in pairwise(prompts)]


def layout_fault(run: RunRecord, turns: Sequence[Recording]) -> Fault | None:
    """The server behaved in every turn: only then do its counters speak of the layout."""
    return first_fault(
        alone(run),
        *(f(turn) for turn in turns for f in (ours, whole)),
        cold(turns[0], run),
        *(served(now, before, run) for before, now in pairwise(turns)),
    )


def lost_texts(turn: Recording, texts: Sequence[str]) -> list[str] | None:
    """Which of these do not stand in the rendered prompt word by word, by its tokens; None where those are unknown."""
    try:
        pieces = unpack_pieces(turn.prompt_pieces)
    except BadPieces:
        pieces = ()
    if not pieces:
        return None
    rendered = b"".join(pieces)
    return [text for text in texts if text.encode() not in rendered]


def first_sentence_tokens(turn: Recording) -> int | None:
    """Tokens to the end of the first sentence; None where none ended within the cap, or they were not counted."""
    pieces = [(text, tokens) for text, tokens in counted(turn) if tokens is not None]
    return tokens_to_sentence(pieces, 1, ended=ended(turn))


def sentence_fault(run: RunRecord, turns: Sequence[Recording], cap: int) -> Fault | None:
    """A cap of 48 tokens or more that is still too low says nothing about the student."""
    silent = [str(i) for i, turn in enumerate(turns, 1) if turn.figures.first_sentence_end is None]
    endless = Fault(
        N_(
            "The model wrote %(cap)s tokens in turn %(turns)s without ending a sentence; no sensible cap helps there. "
            "Ask for something else in the style line.",
            cap=cap,
            turns=", ".join(silent),
        )
    )
    return first_fault(
        alone(run), *(whole(turn) for turn in turns), endless if silent and cap >= ENOUGH_TOKENS else None
    )
