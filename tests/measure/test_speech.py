"""The voice timeline: the client's figures, and what streaming gains over serial."""

from __future__ import annotations

from itertools import pairwise
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.measure.sentences import Sentence, split_pieces
from labs.measure.speech import (
    CLIENT_FIVE_SENTENCES_MS,
    CLIENT_TURN,
    Spoken,
    Stretch,
    client_sentences,
    count_syllables,
    serial,
    spoken,
    streaming,
    tts_ms,
)


def test_the_clients_turn() -> None:
    turn = serial(CLIENT_TURN, model_ms=600)
    assert turn.opens_ms == 400 + 600 + 2_300 == 3_300
    assert turn.stretches == (
        Stretch("asr", 0, 400),
        Stretch("model", 400, 1_000),
        Stretch("tts", 1_000, 3_300),
    )
    assert turn.modelled
    assert [bar.modelled for bar in turn.stretches] == [True, False, True]


def test_five_sentences_beside_the_clients_twelve_seconds() -> None:
    five = client_sentences(5)
    assert serial(five, model_ms=five[-1].ready_ms).opens_ms == CLIENT_FIVE_SENTENCES_MS == 12_000
    # Streaming pays for one sentence, however many follow.
    opens = 400 + 480 + 1_840
    assert [streaming(client_sentences(n), model_ms=480 * n).opens_ms for n in (1, 3, 5)] == [opens] * 3


def test_streaming_makes_sound_of_one_sentence_after_the_other() -> None:
    answer = [Spoken(300, 10), Spoken(500, 10), Spoken(5_000, 5)]
    line = streaming(answer, model_ms=5_100)
    assert line.stretches == (
        Stretch("asr", 0, 400),
        Stretch("model", 400, 5_500),
        Stretch("tts", 700, 1_620, 0),
        Stretch("tts", 1_620, 2_540, 1),  # was ready at 900, waited for the first
        Stretch("tts", 5_400, 5_860, 2),  # TTS waited for the model
    )
    assert line.opens_ms == 1_620


@given(
    st.lists(st.tuples(st.integers(0, 2_000), st.integers(1, 60)), min_size=1, max_size=8),
    st.integers(0, 999),
)
def test_streaming_never_opens_later_than_serial(sentences: list[tuple[int, int]], rest_ms: int) -> None:
    ready_ms, answer = 0, []
    for wait_ms, syllables in sentences:
        ready_ms += wait_ms
        answer.append(Spoken(ready_ms, syllables))
    early, late = (mode(answer, model_ms=ready_ms + rest_ms) for mode in (streaming, serial))
    assert early.opens_ms <= late.opens_ms
    bars = [bar for bar in early.stretches if bar.lane == "tts"]
    assert all(a.end_ms <= b.start_ms for a, b in pairwise(bars)), "one voice speaks one sentence at a time"
    assert all(bar.start_ms >= 400 + one.ready_ms for bar, one in zip(bars, answer, strict=True))


def test_an_answer_without_a_sentence() -> None:
    assert serial([], model_ms=100).opens_ms == streaming([], model_ms=100).opens_ms == 500


def test_a_recorded_answer() -> None:
    pieces = [("좋습니다.", 250_000), (" 다음", 260_400), ("은요?", 300_000)]
    answer = [spoken(sentence) for sentence in split_pieces(pieces)]
    assert answer == [Spoken(260, 4), Spoken(300, 4)]
    assert streaming(answer, model_ms=310).opens_ms == 400 + 260 + tts_ms(4)


@pytest.mark.parametrize(
    ("text", "syllables"),
    [
        ("", 0),
        ("😀 — **!**", 0),
        ("안녕하세요", 5),
        ("버전 3.5입니다.", 2 + 3 + 3),
        ("서울은 2026년", 3 + 4 + 1),
        ("three", 1),
        ("like", 1),
        ("table", 2),
        ("The library opens early.", 1 + 3 + 2 + 2),
        ("café", 2),
        ("It uses 3.5 GB", 1 + 2 + 3 + 2),
        ("I", 1),
        ("한글 text", 3),
        ("です三", 3),
        ("<think>one two</think>three", 1),
    ],
)
def test_spoken_length(text: str, syllables: int) -> None:
    assert count_syllables(text) == syllables
    assert count_syllables(normalize("NFD", text)) == syllables


def test_time_is_proportional_to_spoken_length() -> None:
    assert (tts_ms(0), tts_ms(1), tts_ms(25), tts_ms(100)) == (0, 92, 2_300, 9_200)
    assert spoken(Sentence("한 문장.", 0, 5, 1_499)).ready_ms == 1
