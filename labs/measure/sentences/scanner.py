"""The graded rule as a machine that takes one character at a time.

It knows nothing of pieces, so every way of cutting a text gives the same sentences, and the time of a
sentence is that of the piece with the character that settled it.
"""

from __future__ import annotations

from labs.measure.sentences.chars import STOPS, is_said, is_tail
from labs.measure.sentences.lines import (
    HEAD_CHARS,
    announces,
    is_item_line,
    is_label,
    opens_item,
    starts_list_inline,
)
from labs.measure.sentences.sentence import EndedBy, Sentence
from labs.measure.sentences.stops import judge_glued, judge_spaced, settle
from labs.measure.sentences.thinking import ThinkFilter
from labs.measure.sentences.words import Ends


class Scanner:
    """For one answer. `feed` each piece as it arrives, `finish` when the stream ended by itself.

    Do not call `finish` for an answer that was cut (by us, or by `max_tokens`): half a sentence is none.
    """

    def __init__(self) -> None:
        self._thoughts = ThinkFilter()
        self._found: list[Sentence] = []
        self._now_us = 0
        self._finished = False
        # What is not yet given away; never begins with white space. `_places` runs beside it.
        self._chars: list[str] = []
        self._places: list[int] = []
        self._tail: int | None = None  # where the stop stands whose tail is still growing
        self._open: tuple[Ends, int] | None = None  # a stop that waits for the next word; the end of its tail
        self._head = ""  # the visible beginning of the current line
        self._line_place = 0

    def feed(self, text: str, at_us: int) -> list[Sentence]:
        """The sentences whose end this piece made certain. ValueError after `finish`."""
        if self._finished:
            raise ValueError("the answer has ended; a new one needs a new scanner")
        self._now_us = at_us
        for char in text:
            for shown, place in self._thoughts.take(char):
                self._step(shown, place)
        return self._hand_over()

    def finish(self, at_us: int) -> list[Sentence]:
        """What the end of the stream ends. `at_us` is the time of the last piece: nothing was said later."""
        self._finished = True
        self._now_us = at_us
        for shown, place in self._thoughts.finish():
            self._step(shown, place)
        if opens_item(self._head):  # the end parts as white space does
            self._open_item()
        if self._open is not None:
            self._cut(self._open[1], "stop")
        self._cut(len(self._chars), "end" if self._tail is None else "stop")
        return self._hand_over()

    def _hand_over(self) -> list[Sentence]:
        found, self._found = self._found, []
        return found

    def _step(self, char: str, place: int) -> None:
        if char.isspace():
            self._space(newline=char == "\n")
        else:
            self._visible(char, place)
        if self._chars or not char.isspace():
            self._chars.append(char)
            self._places.append(place)
        if char in STOPS and self._tail is None:
            self._tail = len(self._chars) - 1

    def _space(self, *, newline: bool) -> None:
        if self._tail is not None:
            ends = Ends.NEVER if self._is_numbering() else judge_spaced(self._chars, self._tail)
            self._tail = None
            if ends is Ends.YES:
                self._cut(len(self._chars), "stop")
            elif ends is not Ends.NEVER:
                self._open = ends, len(self._chars)
        if newline:
            if not self._head or is_item_line(self._head + " "):
                self._end_line()
            self._head = ""
            return
        if opens_item(self._head):
            self._open_item()
        if self._head and len(self._head) < HEAD_CHARS:
            self._head += " "

    def _visible(self, char: str, place: int) -> None:
        if self._open is not None:
            ended = settle(self._open[0], char)
            if ended:
                self._cut(self._open[1], "stop")
            elif ended is False:
                self._open = None
        if self._tail is not None and not is_tail(char):
            if judge_glued(self._chars, self._tail, char):
                self._cut(len(self._chars), "stop")
            self._tail = None
        if not self._head:
            self._line_place = place
        if len(self._head) < HEAD_CHARS:
            self._head += char

    def _is_numbering(self) -> bool:
        text = "".join(self._chars[-HEAD_CHARS:])
        return opens_item(self._head) or starts_list_inline(text) or self._is_label()

    def _is_label(self) -> bool:
        return len(self._chars) <= HEAD_CHARS and is_label("".join(self._chars))

    def _end_line(self) -> None:
        """A blank line, or the end of an item's line. A number whose text is still to come goes on."""
        if self._is_label():
            return
        if self._open is not None:
            self._cut(self._open[1], "line")
        self._cut(len(self._chars), "line")

    def _open_item(self) -> None:
        """An item begins: what stood before its line is over, unless it announced the item."""
        line = next((i for i, place in enumerate(self._places) if place >= self._line_place), 0)
        if line and not announces("".join(self._chars[:line])):
            self._cut(line, "line")

    def _cut(self, length: int, by: EndedBy) -> None:
        """Give the first `length` characters away, if a voice can say any of them."""
        rest = length
        while rest < len(self._chars) and self._chars[rest].isspace():
            rest += 1
        text = "".join(self._chars[:length]).rstrip()
        if any(is_said(char) for char in text):
            last = self._places[len(text) - 1]
            self._found.append(Sentence(text, self._places[0], last + 1, self._now_us, by))
        del self._chars[:rest], self._places[:rest]
        self._open = None
