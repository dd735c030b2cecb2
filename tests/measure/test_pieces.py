"""Pieces of an answer with the tokens they cost."""

from __future__ import annotations

from labs.measure.pieces import Piece, read_pieces
from labs.measure.sentences import tokens_to_sentence
from tests.measure.streams import DONE, delta, frames, progress, role, timings, token, usage


def test_tokens_by_the_servers_running_count() -> None:
    stream = frames(
        (0.1, progress(0, 9)),
        (0.2, token("Hi", timings=timings(predicted_n=1))),
        (0.3, token("😀", timings=timings(predicted_n=4))),
        (0.4, delta(reasoning_content="hm", timings=timings(predicted_n=5))),
        (0.5, token(".", timings=timings(predicted_n=6))),
        (0.6, usage(9, 7, timings=timings(predicted_n=7))),
        (0.7, DONE),
    )
    pieces = read_pieces(stream)
    assert pieces == [Piece("Hi", 200_000, 1), Piece("😀", 300_000, 3), Piece(".", 500_000, 2)]
    assert tokens_to_sentence([(text, tokens or 0) for text, _, tokens in pieces], 1) == 6


def test_a_piece_is_a_token_where_the_counts_agree() -> None:
    opening = [(0.1, role()), (0.2, token("A")), (0.3, token(" b"))]
    for predicted, tokens in ((2, 1), (3, 1), (4, None), (1, None)):
        stream = frames(*opening, (0.4, usage(9, predicted, timings=timings(predicted_n=predicted))))
        assert [piece.tokens for piece in read_pieces(stream)] == [tokens, tokens], predicted
    assert [piece.tokens for piece in read_pieces(frames(*opening))] == [None, None], "a cut answer"
