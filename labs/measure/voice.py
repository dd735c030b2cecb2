"""The voice timeline of one recorded answer, beside the client's two turns: plain figures for a page to draw.

ASR and TTS are modelled (`speech`); what the model wrote and when is measured. So the whole is marked modelled and is
never ranked. Pure: a recording's frames in, JSON out.
"""

from __future__ import annotations

from collections.abc import Sequence

from labs.llama.errors import BadFrame
from labs.measure.opening import ended_itself
from labs.measure.pieces import read_pieces
from labs.measure.recording import Recording
from labs.measure.sentences import SENTENCE_RULE_VERSION, split_pieces
from labs.measure.speech import (
    CLIENT_MODEL_MS,
    CLIENT_TURN,
    SPEECH_MODEL_VERSION,
    Spoken,
    Timeline,
    client_sentences,
    serial,
    spoken,
    streaming,
)
from labs.text import Json

FIVE = 5


def voice(recording: Recording, sentences_at_most: int | None = None) -> Json | None:
    """None where no sentence was finished, or the frames are gone.

    {"modelled": true, "speech_model": int, "sentence_rule": int, "rows": [row]}; a row is {"whose": "yours" | "client",
    "mode": "serial" | "streaming", "sentences": int, "opens_ms": int, "bars": [bar]}, a bar {"lane": "asr" | "model" |
    "tts", "start_ms", "end_ms", "sentence": int | null, "modelled": bool}. Times count from the moment the user stops
    speaking. `sentences_at_most` is the clip: what code drops is neither waited for nor said.
    """
    figures = recording.figures
    try:
        pieces = [(piece.text, piece.at_us) for piece in read_pieces(recording.frames)]
    except BadFrame:
        return None
    found = split_pieces(pieces, ended=ended_itself(figures.end, figures.finish_reason))[:sentences_at_most]
    if not found:
        return None
    answer = [spoken(sentence) for sentence in found]
    clipped = sentences_at_most is not None and len(found) == sentences_at_most
    last_us = found[-1].at_us if clipped else pieces[-1][1]
    return {
        "modelled": True,
        "speech_model": SPEECH_MODEL_VERSION,
        "sentence_rule": SENTENCE_RULE_VERSION,
        "rows": [*_both("yours", answer, round(last_us / 1000)), *client_rows()],
    }


def client_rows() -> list[Json]:
    """The client's turn of 3.3 s, and their 'five sentences, 12 seconds', each serial and streaming."""
    five = client_sentences(FIVE)
    return [
        *_both("client", CLIENT_TURN, CLIENT_MODEL_MS),
        *_both("client", five, five[-1].ready_ms),
    ]


def _both(whose: str, answer: Sequence[Spoken], model_ms: int) -> list[Json]:
    return [
        _row(whose, answer, serial(answer, model_ms=model_ms)),
        _row(whose, answer, streaming(answer, model_ms=model_ms)),
    ]


def _row(whose: str, answer: Sequence[Spoken], line: Timeline) -> Json:
    return {
        "whose": whose,
        "mode": line.mode,
        "sentences": len(answer),
        "opens_ms": line.opens_ms,
        "bars": [
            {
                "lane": bar.lane,
                "start_ms": bar.start_ms,
                "end_ms": bar.end_ms,
                "sentence": bar.sentence,
                "modelled": bar.modelled,
            }
            for bar in line.stretches
        ],
    }
