"""The sentences of a recorded answer, by the graded rule, each with the time it was certain."""

from __future__ import annotations

from labs.llama.errors import BadFrame
from labs.measure.opening import ended_itself
from labs.measure.pieces import read_pieces
from labs.measure.recording import Recording
from labs.measure.sentences import SENTENCE_RULE_VERSION, Sentence, split_pieces


def sentences_of(recording: Recording) -> list[Sentence]:
    """[] where the frames are purged or broken. The end of the stream ends the last one where the model stopped by
    itself, not where it ran into `max_tokens` or was cut."""
    ended = ended_itself(recording.figures.end, recording.figures.finish_reason)
    try:
        pieces = read_pieces(recording.frames)
    except BadFrame:
        return []
    return split_pieces(((piece.text, piece.at_us) for piece in pieces), ended=ended)


def first_sentence_us(recording: Recording) -> int | None:
    """As it was stored, also where the frames have been purged since; read from them only where that was by an older
    rule, or before there was one."""
    figures = recording.figures
    if figures.sentence_rule == SENTENCE_RULE_VERSION:
        return figures.first_sentence_us
    return next((sentence.at_us for sentence in sentences_of(recording)), None)
