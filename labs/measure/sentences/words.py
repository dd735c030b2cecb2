"""The word in front of a single dot: whether the dot then ends a sentence.

What is ambiguous is decided here, once. `a.m.` and its like end a sentence before an uppercase word only ('at
9 a.m. sharp' goes on, 'at 9 a.m. Bring it.' is two), which cuts 'the U.S. Senate'. A single capital is an
initial and never ends one, which joins 'It is vitamin C. It helps.' Joining costs time, cutting costs sense.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from unicodedata import normalize

from labs.measure.sentences.chars import is_mark


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Ends(Enum):
    """Whether a stop in front of white space ends its sentence, or which next word would make it."""

    YES = "yes"
    NEVER = "never"
    IF_UPPER = "if an uppercase letter follows"
    UNLESS_LOWER = "unless a lowercase letter follows"
    UNLESS_DIGIT = "unless a digit follows"


# A title stands before a name. Written as they are: 'a rep.' may end a sentence.
_TITLES = _words("Dr Mr Mrs Ms Mx Prof St Mt Ft Gen Col Lt Capt Sgt Rev Hon Gov Sen Rep Pres")
# In lower case: these stand in the middle of a sentence.
_INSIDE = _words("e.g i.e cf vs viz ca approx")
# In lower case: at the end as well as inside.
_EITHER = _words(
    "a.m p.m etc al inc ltd co corp jr sr ph.d m.d u.s u.s.a u.k u.n e.u d.c b.c a.d "
    "ft lb lbs oz hr hrs min mins sec secs dept est ave blvd"
)
# Written as they are: they announce a number. 'No.' and 'Mar.' without one are words.
_BEFORE_NUMBER = _words(
    "No Nos Fig Figs fig figs Eq eq p pp Vol vol Ch ch Sec Art "
    "Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec"
)
_LONGEST = 8


def judge_word(chars: Sequence[str], dot: int) -> Ends:
    """For the single dot at `chars[dot]` that white space follows."""
    word, after_digit = _word_before(chars, dot)
    if word in _TITLES or word.lower() in _INSIDE:
        return Ends.NEVER
    if word in _BEFORE_NUMBER:
        return Ends.UNLESS_DIGIT
    if word.lower() in _EITHER:
        return Ends.IF_UPPER
    initials = word.split(".")
    if all(len(letter) == 1 and letter.isupper() for letter in initials) and not after_digit:
        return Ends.NEVER
    return Ends.YES


def _word_before(chars: Sequence[str], dot: int) -> tuple[str, bool]:
    """Letters and inner dots in front of `dot`, composed; whether a digit is glued to them ('H2O')."""
    start = dot
    while start > 0 and (chars[start - 1].isalpha() or chars[start - 1] == "." or is_mark(chars[start - 1])):
        start -= 1
        if dot - start > 4 * _LONGEST:
            return "", False
    word = normalize("NFC", "".join(chars[start:dot])).lstrip(".")
    return word, start > 0 and chars[start - 1].isdigit()
