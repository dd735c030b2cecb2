"""What ranks a voice turn: counts, and answers that say something."""

from __future__ import annotations

import json
from typing import Any

import pytest

from labs.grading.turns import first_sentence_tokens, would_compute
from labs.grading.voice_rank import Pace, cost_ms, may_rank, says_enough
from labs.measure.figures import read_figures
from labs.measure.recording import Frame, Recording


@pytest.mark.parametrize(
    ("sentence", "enough"),
    [
        ("It opens at nine.", True),
        ("At nine, sharp.", False),
        ("It's 3.50 at Sandwick's.", True),
        ("Yes, it is.", False),
        ("- - - - Yes.", False),
        ("도서관은 아침 아홉 시에 엽니다.", True),
        ("아침 아홉 시입니다.", False),
        ("ㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋ", True),
    ],
)
def test_four_words_or_twelve_korean_letters_say_enough(sentence: str, enough: bool) -> None:
    assert says_enough(sentence) is enough


def test_no_two_turns_may_say_the_same() -> None:
    assert may_rank(["It opens at nine.", "It closes at six."])
    assert not may_rank(["It opens at nine.", "it  opens at NINE!"])
    assert not may_rank(["It opens at nine.", ""])
    assert not may_rank([])


def turn(prompt_n: int, *words: str, reason: str = "stop") -> Recording:
    counters: dict[str, Any] = {"cache_n": 5, "prompt_n": prompt_n, "prompt_ms": 1.0, "predicted_ms": 1.0}
    events: list[Any] = [
        {"choices": [{"delta": {"content": word}}], "timings": {**counters, "predicted_n": i}}
        for i, word in enumerate(words, 1)
    ]
    events.append({"choices": [{"delta": {}, "finish_reason": reason}]})
    events.append({"choices": [], "timings": {**counters, "predicted_n": len(words)}})
    frames = tuple(
        Frame(i * 1000, b"data: " + json.dumps(event).encode() + b"\n\n") for i, event in enumerate(events)
    )
    return Recording(
        "t", "ask", frames=frames, figures=read_figures(frames, headers_us=0, end="done", end_us=9000)
    )


def test_the_cost_is_counts_at_a_fixed_pace() -> None:
    turns = [
        turn(100, "It", " opens", " at", " nine", ".", " More"),
        turn(10, "The", " van", " is", " green"),
    ]
    assert [first_sentence_tokens(t) for t in turns] == [5, 4]
    assert cost_ms(turns, Pace(read_ms=4.0, write_ms=10.0)) == 110 * 4.0 + 9 * 10.0


def test_what_is_not_known_or_says_too_little_has_no_cost() -> None:
    good = turn(100, "It", " opens", " at", " nine", ".", " More")
    assert cost_ms([good, turn(10, "Yes", ".")], Pace()) is None
    assert cost_ms([good, turn(10, "The", " van", " is", " green", reason="length")], Pace()) is None


def test_the_reference_is_computed_from_tokens() -> None:
    assert would_compute([[1, 2, 3, 4], [1, 2, 9, 9, 9], [1, 2, 9, 9, 9]]) == [3, 1]
    assert would_compute([[1, 2]]) == []
