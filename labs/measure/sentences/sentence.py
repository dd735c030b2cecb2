"""One sentence of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# Raise it with every change of what is a sentence, and when; stored with each figure that depends on it.
SENTENCE_RULE_VERSION = 1

# What ended it: a stop, the end of its line (a list item, a heading, a blank line), or nothing but the end of
# the stream.
EndedBy = Literal["stop", "line", "end"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """`start` and `end` are places in the answer's characters, `end` behind the last; thoughts are counted.

    `text` is `answer[start:end]` without thoughts. `at_us` is the time of the piece that made the end
    certain: the one with the white space after the stop, or the next visible character where that decides.
    """

    text: str
    start: int
    end: int
    at_us: int
    by: EndedBy = "stop"
