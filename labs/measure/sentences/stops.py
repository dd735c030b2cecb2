"""A stop and its tail (more stops, closers, marks, emoji): does the sentence end there?"""

from __future__ import annotations

from collections.abc import Sequence

from labs.measure.sentences.chars import (
    DOTS,
    STOPS,
    WIDE_STOPS,
    is_cjk,
    is_closer,
    is_mark,
    is_said,
    is_wrapping,
)
from labs.measure.sentences.words import Ends, judge_word


def judge_spaced(chars: Sequence[str], tail: int) -> Ends:
    """White space follows the tail `chars[tail:]`, which begins with a stop."""
    first, last = _last_run(chars, tail)
    run = chars[first:last]
    if not WIDE_STOPS.isdisjoint(run):
        return Ends.YES
    if run == ["…"] or (len(run) > 1 and DOTS.issuperset(run)):
        return Ends.UNLESS_LOWER  # a pause or an end: 'Wait... what?' is one sentence
    if DOTS.issuperset(run) and (word := judge_word(chars, first)) is not Ends.YES:
        return word
    closed = any(is_closer(char) for char in chars[last:])
    return Ends.UNLESS_LOWER if closed else Ends.YES  # '"Go!" he said.' is one sentence


def judge_glued(chars: Sequence[str], tail: int, char: str) -> bool:
    """`char` stands right behind the tail `chars[tail:]`, with no blank between."""
    first, last = _last_run(chars, tail)
    run, rest = chars[first:last], chars[last:]
    if not WIDE_STOPS.isdisjoint(run):
        # A quotation goes on in its sentence: 「行きます。」と言った。
        return not (is_said(char) and any(is_closer(closer) for closer in rest))
    if rest or run == ["…"] or (len(run) > 1 and DOTS.issuperset(run)):
        return False
    return is_cjk(_letter_before(chars, first)) and is_cjk(char)


def settle(ends: Ends, char: str) -> bool | None:
    """The first visible character after the white space: an end, none, or wait for the next (None)."""
    if is_wrapping(char):
        return None
    if not is_said(char):
        return ends is not Ends.IF_UPPER
    match ends:
        case Ends.IF_UPPER:
            return char.isupper() or char.istitle()
        case Ends.UNLESS_DIGIT:
            return not char.isdigit()
        case _:
            return not char.islower()


def _last_run(chars: Sequence[str], tail: int) -> tuple[int, int]:
    """First and behind-the-last index of the last run of stops: of 'a.m.).' the one behind the bracket."""
    last = len(chars)
    while chars[last - 1] not in STOPS:
        last -= 1
    first = last
    while first > tail and chars[first - 1] in STOPS:
        first -= 1
    return first, last


def _letter_before(chars: Sequence[str], at: int) -> str:
    """The character before `at` without its combining marks; a blank where there is none."""
    while at > 0 and is_mark(chars[at - 1]):
        at -= 1
    return chars[at - 1] if at > 0 else " "
