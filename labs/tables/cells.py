"""Cells that a spreadsheet would take for something else: made harmless on the way out, as they were on the way in."""

from __future__ import annotations

import re

# What begins a formula, also in its full width; tab and line ends, behind which a spreadsheet looks for one.
_FORMULA = r"[=+\-@\t\r\n＝＋－＠]|\s+[=+\-@＝＋－＠]"
# What would be shown as another value: 00123, 123456789012345, 1e5, 3-1, 2026-11-30, 12:30.
_OTHER_VALUE = (
    r"(?:0\d+|\d{12,}|\d+(?:\.\d+)?[eE][+\-]?\d+"
    r"|\d{1,4}[\-/.]\d{1,2}(?:[\-/.]\d{1,4})?|\d{1,3}:\d{2}(?::\d{2})?)\Z"
)
_NOT_AS_IT_STANDS = re.compile(rf"'*(?:{_FORMULA}|{_OTHER_VALUE})")
MARK = "'"


def inert(text: str) -> str:
    """Shown as it stands and never calculated: with an apostrophe in front where a spreadsheet would do otherwise."""
    return MARK + text if _NOT_AS_IT_STANDS.match(text) else text


def plain(text: str) -> str:
    """What `inert` was given."""
    return text[1:] if text.startswith(MARK) and _NOT_AS_IT_STANDS.match(text[1:]) else text
