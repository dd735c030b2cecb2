"""Kinds of characters, by their Unicode category, so that composed and decomposed text is judged alike."""

from __future__ import annotations

from unicodedata import category

# A stop that needs a blank behind it (or stands between two CJK letters), and one that never does.
SPACED_STOPS = frozenset(".．?!‼⁇⁈⁉…")
WIDE_STOPS = frozenset("。｡！？")
STOPS = SPACED_STOPS | WIDE_STOPS
DOTS = frozenset(".．…")

MARKERS = frozenset("*_~`")  # Markdown's emphasis and code
_STRAIGHT_QUOTES = frozenset("\"'")
_CLOSERS = frozenset({"Pe", "Pf"})
_OPENERS = frozenset({"Ps", "Pi"})
# An emoji is a symbol, perhaps with a skin tone (Sk), a joiner (Cf), a variation mark or a keycap (M).
_PICTURES = frozenset({"So", "Sk", "Cf", "Mn", "Mc", "Me"})

_CJK = (
    (0x1100, 0x11FF),  # Hangul letters, as decomposed text has them
    (0x3041, 0x318F),  # Kana, Bopomofo, Hangul letters standing alone
    (0x3400, 0x9FFF),  # Han
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),  # Hangul syllables
    (0xF900, 0xFAFF),
    (0xFF66, 0xFFDC),  # half-width Kana and Hangul
    (0x20000, 0x3FFFF),
)


def is_said(char: str) -> bool:
    """A letter or a digit: something a voice can say."""
    return category(char)[0] in "LN"


def is_mark(char: str) -> bool:
    return category(char)[0] == "M"


def is_cjk(char: str) -> bool:
    return is_said(char) and any(low <= ord(char) <= high for low, high in _CJK)


def is_closer(char: str) -> bool:
    """A quote or bracket that may close; straight quotes do both."""
    return char in _STRAIGHT_QUOTES or category(char) in _CLOSERS


def is_wrapping(char: str) -> bool:
    """What may stand in front of a word without being one: quotes, brackets, Markdown's marks."""
    return is_closer(char) or char in MARKERS or char == "#" or category(char) in _OPENERS


def is_tail(char: str) -> bool:
    """What may follow a stop and still belongs to its sentence: more stops, closers, marks, emoji."""
    return char in STOPS or is_closer(char) or char in MARKERS or category(char) in _PICTURES
