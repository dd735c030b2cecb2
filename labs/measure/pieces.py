"""The visible pieces of an answer, as they came: text, time, and tokens where the server counts them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from labs.llama.wire import Chunk
from labs.measure.events import read_events
from labs.measure.recording import Frame


class Piece(NamedTuple):
    """`tokens`: how many of the server's tokens it cost, those that brought no text before it included."""

    text: str
    at_us: int
    tokens: int | None


def read_pieces(frames: Iterable[Frame]) -> list[Piece]:
    """Raises BadFrame. Tokens come from `timings` in each piece (`timings_per_token`).

    Without those, a piece is a token where there are as many pieces as the server counted (or one less: the
    end of the text counts as one). Else they are None: one piece is not one token.
    """
    pieces: list[Piece] = []
    counted = 0
    total: int | None = None
    for at_us, event in read_events(frames):
        if not isinstance(event, Chunk):
            continue
        predicted = event.timings.predicted_n if event.timings and event.progress is None else None
        total = predicted if predicted is not None else total
        if event.content:
            pieces.append(Piece(event.content, at_us, None if predicted is None else predicted - counted))
            counted = counted if predicted is None else predicted
    if any(piece.tokens is None for piece in pieces):
        tokens = 1 if total is not None and total - len(pieces) in (0, 1) else None
        pieces = [piece._replace(tokens=tokens) for piece in pieces]
    return pieces
