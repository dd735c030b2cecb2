"""Sentences and their times: every case, and every way of cutting a text into pieces."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labs.measure.sentences import (
    Scanner,
    Sentence,
    TeachingScanner,
    clip,
    first_sentence,
    split,
    split_pieces,
    teaching_first,
    tokens_to_sentence,
)
from labs.measure.sentences.chars import is_said
from labs.measure.sentences.thinking import without_thoughts
from tests.measure.sentence_cases import CASES, Case

EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case.marked))

WORDS = (
    "He arrived", "it", "Then", "Dr", "No", "a.m", "e.g", "U.S", "J", "I", "b", "1", "42", "100", "3.5", "v1.0.0",
    "좋습니다", "다음", "네", "하다", "ㅋㅋ", "三", "です", "が", "é", "３．１４", "😀", "👩🏽‍💻", "1️⃣", "$3.50",
)  # fmt: skip
MARKS = (
    ".", "?", "!", "...", "…", "?!", "。", "！", "．", ",", ":", "-", "—", "*", "**", "#", "##", ")", "(", '"', "'",
    "”", "“", "」", "「", "<", ">", "<think>", "</think>", "<th", "`", "~",
)  # fmt: skip
BLANKS = (" ", " ", " ", "\n", "\n\n", "\n- ", "\n1. ", "\r\n", "\t", "\u3000")
TEXTS = st.lists(st.sampled_from(WORDS + MARKS + BLANKS), max_size=24).map("".join) | st.text(max_size=30)
CUTS = st.lists(st.integers(0, 200), max_size=12)


def pieces_of(text: str, cuts: list[int]) -> list[tuple[str, int]]:
    """The text cut at these places, a piece each 10 us; empty pieces too, as a server may send them."""
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    return [(text[a:b], 10 * i) for i, (a, b) in enumerate(itertools.pairwise(places))]


def by_character(text: str) -> list[Sentence]:
    """With `at_us` the place of the deciding character; of the last one, where the end of the stream decides."""
    return split_pieces([(char, place) for place, char in enumerate(text)])


def when(pieces: list[tuple[str, int]], place: int) -> int:
    """The time of the piece with the character at `place`."""
    ends = list(itertools.accumulate(len(text) for text, _ in pieces))
    return pieces[bisect_left(ends, place + 1)][1]


@EVERY_CASE
def test_sentences_and_their_deciding_characters(case: Case) -> None:
    found = by_character(case.text)
    assert [sentence.text for sentence in found] == case.sentences
    assert [sentence.at_us for sentence in found] == case.deciders


@EVERY_CASE
def test_decomposed_text_gives_the_same(case: Case) -> None:
    found = [normalize("NFC", sentence.text) for sentence in split(normalize("NFD", case.text))]
    assert found == [normalize("NFC", sentence) for sentence in case.sentences]


@EVERY_CASE
def test_cut_in_two_anywhere(case: Case) -> None:
    whole = by_character(case.text)
    for cut in range(len(case.text) + 1):
        assert_cutting_is_nothing(case.text, [cut], whole)


@given(TEXTS, CUTS)
@example("It uses 3.5 GB of RAM. Next one.", [9, 10, 21])
def test_every_cutting_gives_the_same_sentences_at_the_right_pieces(text: str, cuts: list[int]) -> None:
    assert_cutting_is_nothing(text, cuts, by_character(text))


def assert_cutting_is_nothing(text: str, cuts: list[int], whole: list[Sentence]) -> None:
    pieces = pieces_of(text, cuts)
    found = split_pieces(pieces)
    assert [(s.text, s.start, s.end, s.by) for s in found] == [(s.text, s.start, s.end, s.by) for s in whole]
    assert [s.at_us for s in found] == [when(pieces, s.at_us) for s in whole]
    assert first_sentence(pieces) == (found[0] if found else None)


@given(TEXTS, st.integers(0, 60))
def test_what_is_given_away_never_changes_with_what_comes_after(text: str, seen: int) -> None:
    early = split_pieces([(char, place) for place, char in enumerate(text[:seen])], ended=False)
    later = split_pieces([(char, place) for place, char in enumerate(text)], ended=False)
    assert early == [sentence for sentence in later if sentence.at_us < seen]


@given(TEXTS)
def test_nothing_that_can_be_said_is_lost_or_said_twice(text: str) -> None:
    found = split(text)
    assert "".join(filter(is_said, "".join(s.text for s in found))) == "".join(
        filter(is_said, without_thoughts(text))
    )
    assert all(any(map(is_said, s.text)) and s.text == s.text.strip() for s in found)
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))
    if "think>" not in text.lower():
        assert [text[s.start : s.end] for s in found] == [s.text for s in found]


@given(st.lists(st.sampled_from(WORDS + MARKS + BLANKS), max_size=24).map("".join))
def test_composed_and_decomposed_text_are_one(text: str) -> None:
    composed, decomposed = (split(normalize(form, text)) for form in ("NFC", "NFD"))
    assert [normalize("NFC", s.text) for s in decomposed] == [s.text for s in composed]
    assert [s.by for s in decomposed] == [s.by for s in composed]


@given(TEXTS, st.integers(0, 4))
def test_a_clip_is_a_beginning_with_at_most_n_sentences(text: str, n: int) -> None:
    clipped = clip(text, n)
    assert [s.text for s in split(clipped)] == [s.text for s in split(without_thoughts(text))[:n]]
    assert without_thoughts(text).lstrip().startswith(clipped)


def test_h1_the_time_is_that_of_the_piece_with_the_blank() -> None:
    pieces = [("It uses 3", 10), (".", 20), ("5 GB of RAM", 30), (". Next one.", 40)]
    assert first_sentence(pieces) == Sentence("It uses 3.5 GB of RAM.", 0, 22, 40)
    scanner = Scanner()
    assert scanner.feed("It uses 3", 10) + scanner.feed(".", 20) == [], "a dot waits for the next character"
    assert first_sentence([("Yes", 1), (".", 2), (" ", 3), ("No", 4)]) == Sentence("Yes.", 0, 4, 3)


def test_h8_pieces_are_joined_as_they_are() -> None:
    found = split_pieces([("He ", 1), ("arrived. ", 2), ("Ok", 3)])
    assert [(s.text, s.at_us, s.by) for s in found] == [("He arrived.", 2, "stop"), ("Ok", 3, "end")]


def test_h8_the_end_of_the_stream_has_the_time_of_the_last_text() -> None:
    assert first_sentence([("Done", 5), (".", 7), ("", 9)]) == Sentence("Done.", 0, 5, 7, "stop")
    assert first_sentence([("Only words", 5)]) == Sentence("Only words", 0, 10, 5, "end")
    assert first_sentence([]) is None


def test_h8_a_cut_answer_has_no_half_sentence_and_leaves_nothing_behind() -> None:
    cut = [("One. Half a ", 1), ("sen", 2)]
    assert [s.text for s in split_pieces(cut, ended=False)] == ["One."]
    assert first_sentence([("half a sen", 1)], ended=False) is None
    scanner = Scanner()
    scanner.feed("half a sen", 1)
    assert [s.text for s in Scanner().feed("Next run. ", 2)] == ["Next run."]
    assert [s.text for s in scanner.finish(3)] == ["half a sen"]
    assert scanner.finish(4) == []
    with pytest.raises(ValueError, match="ended"):
        scanner.feed("more", 5)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("It costs 3.5 dollars. Next", "It costs 3.5 dollars."),
        ("Wake at 9 a.m. sharp. Then go.", "Wake at 9 a.m."),
        ("Dr. Kim called. Yes.", "Dr."),
        ("1. Open the box.\n2. Close it.\n", "1."),
        ("좋습니다.다음으로 갑니다. 끝", "좋습니다.다음으로 갑니다."),
        ("  Hello? Yes", "Hello?"),
        ("Only words", "Only words"),
        ("すごい。 ", "すごい。"),
    ],
)
def test_the_handouts_rule_cuts_where_it_says(text: str, first: str) -> None:
    found = teaching_first([(text, 0)])
    assert found is not None
    assert found.text == first == text[found.start : found.end]


def test_the_handouts_rule_needs_the_blank() -> None:
    assert teaching_first([("Yes", 1), (".", 2), (" ", 3)], ended=False) == Sentence("Yes.", 0, 4, 3)
    assert teaching_first([("Yes.", 1)], ended=False) is None
    assert teaching_first([(" ", 1)]) is None


@given(TEXTS, CUTS)
def test_the_handouts_rule_knows_no_cutting_either(text: str, cuts: list[int]) -> None:
    pieces = pieces_of(text, cuts)
    scanner = TeachingScanner()
    whole = [s for place, char in enumerate(text) for s in scanner.feed(char, place)]
    cut = TeachingScanner()
    found = [s for piece, at_us in pieces for s in cut.feed(piece, at_us)]
    assert [(s.text, s.start, s.end) for s in found] == [(s.text, s.start, s.end) for s in whole]
    assert [s.at_us for s in found] == [when(pieces, s.at_us) for s in whole]


def test_clip() -> None:
    answer = "<think>Hm. Ok.</think>One. Two! 3.5 is three. Four."
    assert clip(answer, 3) == "One. Two! 3.5 is three."
    assert clip(answer, 9) == "One. Two! 3.5 is three. Four."
    assert clip(answer, 0) == clip("😀", 3) == ""


def test_tokens_to_the_end_of_a_sentence() -> None:
    # Tokens up to the stop, not up to the blank that shows it: a cap there leaves the sentence whole.
    pieces = [("One", 1), (".", 1), (" Two", 1), ("😀", 3), (". Three", 2), (".", 1)]
    assert [tokens_to_sentence(pieces, n) for n in (0, 1, 2, 3, 4)] == [None, 2, 8, 9, None]
    assert tokens_to_sentence(pieces, 3, ended=False) is None
    assert tokens_to_sentence([], 1) is None
