"""Where a voice may begin, what became of 'exactly three sentences', and which caps are right."""

from __future__ import annotations

import pytest

from labs.grading.mouth import Caps, Kept, caps_of, kept_of, opening_of, spoken
from labs.measure.recording import Figures, StreamEnd


@pytest.mark.parametrize(
    ("text", "first", "last", "cuts"),
    [
        ("It costs 3.5 dollars. Next", 20, 22, False),
        ("at 9 a.m. sharp. Go", 15, 17, True),
        ("1. Open it.", 10, 11, True),
        ("좋습니다. 네", 4, 6, False),
        ("좋습니다.네", 4, 5, False),
        ('He said "Go!" Then', 11, 14, False),
        ("What?! No", 4, 7, False),
        ("Dr. Kim called. Yes", 14, 16, True),
        ("Only words", 9, 10, False),
        ("Title\n\nText", 4, 7, False),
    ],
)
def test_any_mark_from_the_stop_to_the_next_visible_character_counts(
    text: str, first: int, last: int, cuts: bool
) -> None:
    found = opening_of(text)
    assert found is not None
    assert (found.first, found.last, found.teaching_cuts) == (first, last, cuts)
    right = [place for place in range(len(text) + 1) if found.holds(place)]
    assert right == list(range(first, last + 1))


def test_what_was_cut_has_no_opening() -> None:
    assert opening_of("It opens at nine.", ended=False) is None
    assert opening_of("...") is None


@pytest.mark.parametrize(
    ("text", "end", "reason", "kept"),
    [
        ("One. Two. Three.", "done", "stop", Kept.KEPT),
        ("One.", "done", "stop", Kept.ONE),
        ("One. Two.", "done", "stop", Kept.OTHER),
        ("", "done", "stop", Kept.OTHER),
        ("One. Two. Three. Four.", "done", "stop", Kept.MORE),
        ("One. Two. Three. And fo", "done", "length", Kept.MORE),
        ("One. Two. Thr", "done", "length", Kept.CUT),
        ("One. Two. Three.", "done", "length", Kept.CUT),
        ("1. One.\n2. Two.\n3. Three.", "done", "stop", Kept.LIST),
        ("Here:\n1) One\n2) Two", "done", "length", Kept.LIST),
        ("It was in 1980. Two. Three.", "done", "stop", Kept.KEPT),
    ],
)
def test_what_became_of_three_sentences(text: str, end: StreamEnd, reason: str, kept: Kept) -> None:
    assert kept_of(Figures(end, text=text, finish_reason=reason)) is kept


FOUR = [
    ("One", 1),
    (" is.", 2),
    (" Two", 1),
    (" is.", 2),
    (" Three", 1),
    (" is.", 2),
    (" Four", 1),
    (" is.", 2),
]


def test_a_cap_lies_between_the_first_sentence_and_one_and_a_half_times_the_third() -> None:
    caps = caps_of(FOUR, ended=True)
    assert caps == Caps(low=3, third=9)
    assert [cap for cap in range(20) if caps.holds(cap)] == list(range(3, 14))


def test_a_short_answer_counts_whole_and_an_uncounted_one_not_at_all() -> None:
    assert caps_of(FOUR[:3], ended=True) == Caps(low=3, third=4)
    assert caps_of([*FOUR, ("!", None)], ended=True) is None
    assert caps_of([("Half a", 2)], ended=False) is None


def test_code_says_whole_sentences_only() -> None:
    assert spoken(FOUR, 64, 3, ended=True) == "One is. Two is. Three is."
    assert spoken(FOUR, 64, 9, ended=True) == "One is. Two is. Three is. Four is."
    assert spoken(FOUR, 5, 3, ended=True) == "One is."
    assert spoken(FOUR, 2, 3, ended=True) == ""
