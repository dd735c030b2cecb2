"""The first sentence of a stream: the same live and from the frames, however the text was cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.measure.figures import read_figures
from labs.measure.opening import Opening
from labs.measure.recording import Figures, StreamEnd
from labs.measure.sentences import SENTENCE_RULE_VERSION, split
from tests.measure.streams import DONE, Piece, finish, frames, token

TEXT = "At 9 a.m. sharp it costs 3.5 dollars. Bring your card! 좋습니다. 네"


def read(*pieces: Piece, end: StreamEnd = "done", reason: str = "stop") -> Figures:
    stream = frames(*pieces, (9.0, finish(reason)), (9.0, DONE))
    return read_figures(stream, headers_us=0, end=end, end_us=9_000_000)


def test_the_time_is_that_of_the_piece_with_the_blank() -> None:
    seen = read((0.1, token("It costs 3")), (0.2, token(".5 dollars")), (0.3, token(".")), (0.4, token(" N")))
    assert (seen.first_sentence_us, seen.first_sentence_end) == (400_000, len("It costs 3.5 dollars."))
    assert seen.sentence_rule == SENTENCE_RULE_VERSION


@pytest.mark.parametrize(
    ("end", "reason", "at_us"),
    [("done", "stop", 200_000), ("done", "length", None), ("cut", "stop", None), ("truncated", "stop", None)],
)
def test_only_an_answer_that_ended_itself_ends_a_sentence(
    end: StreamEnd, reason: str, at_us: int | None
) -> None:
    assert read((0.1, token("Nine")), (0.2, token(".")), end=end, reason=reason).first_sentence_us == at_us


def test_without_words_there_is_none() -> None:
    assert read((0.1, token("...")), (0.2, token(" \n"))).first_sentence_us is None


@given(st.lists(st.integers(1, len(TEXT) - 1), unique=True, max_size=20))
def test_every_way_of_cutting_the_text_gives_the_same_sentence_at_the_right_frame(cuts: list[int]) -> None:
    borders = [0, *sorted(cuts), len(TEXT)]
    pieces = [TEXT[a:b] for a, b in pairwise(borders)]
    first = split(TEXT)[0]
    settled_by = next(i for i, end in enumerate(borders[1:]) if end > first.end)
    opening = Opening()
    heard = [opening.take(text, 100_000 * (i + 1)) for i, text in enumerate(pieces)]
    assert [i for i, sentence in enumerate(heard) if sentence] == [settled_by]
    seen = read(*(((i + 1) / 10, token(text)) for i, text in enumerate(pieces)))
    assert (seen.first_sentence_us, seen.first_sentence_end) == (100_000 * (settled_by + 1), first.end)
