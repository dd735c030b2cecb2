"""List items and headings, told from the head of their line."""

from __future__ import annotations

import re

from labs.measure.sentences.chars import MARKERS

# More of a line's head is never needed: '>' levels, emphasis, a label, and one blank.
HEAD_CHARS = 16

_EMPHASIS = "[*_]*"
_LABEL = rf"{_EMPHASIS}\(?(?:\d{{1,2}}|[a-z])[.)．]{_EMPHASIS}"
_OPENS = re.compile(rf">*(?:[-+*•◦‣–]|#{{1,6}}|{_LABEL})")
_ITEM = re.compile(rf"(?:{_OPENS.pattern})\s")
_LABEL_ALONE = re.compile(rf"{_EMPHASIS}\(?(?:\d{{1,2}}|[a-z])[.)．]{_EMPHASIS}\s*")
_AFTER_COLON = re.compile(rf"[:：]\s*{_EMPHASIS}1[.．]{_EMPHASIS}$")
_COLONS = (":", "：")


def opens_item(head: str) -> bool:
    """`head` is a whole bullet, number or heading mark, so that the blank behind it opens an item."""
    return len(head) < HEAD_CHARS and _OPENS.fullmatch(head) is not None


def is_item_line(head: str) -> bool:
    return _ITEM.match(head) is not None


def is_label(text: str) -> bool:
    """'1.', 'a)', '**2.**': the number of an item, not yet its text. Three digits are a number ('100.')."""
    return len(text) <= HEAD_CHARS and _LABEL_ALONE.fullmatch(text) is not None


def starts_list_inline(text: str) -> bool:
    """'Steps: 1.' opens a list in mid-line. Only the number one does: 'The answer is: 42.' is an answer."""
    return _AFTER_COLON.search(text) is not None


def announces(text: str) -> bool:
    """A line that ends in a colon belongs to the item it announces."""
    return text.rstrip().rstrip("".join(MARKERS)).endswith(_COLONS)
