"""From a text to its rows: which separator it uses, quotes and line ends of every kind."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from labs.tables.cells import plain
from labs.tables.errors import Unreadable
from labs.text import N_

# Where a first row has as many of one as of another, the rarer in names and addresses wins.
SEPARATORS = ("\t", ";", ",")
LINES_LOOKED_AT = 10


@dataclass(frozen=True, slots=True)
class Row:
    """`number` is the line of the file on which the row begins, from 1."""

    number: int
    cells: tuple[str, ...]


def split(text: str) -> list[Row]:
    """Rows with something in them; cells as they were before `inert` made them harmless. Raises Unreadable."""
    skipped = 0
    if text[:4].lower() == "sep=" and text[5:6] in {"\r", "\n", ""}:
        # What some spreadsheets write into a first line of its own.
        separator, skipped = text[4:5], 1
        text = text[5:].removeprefix("\r").removeprefix("\n")
    else:
        separator = separator_of(text) if text.strip() else ","
    return [row for row in _rows(text, separator, skipped) if any(cell.strip() for cell in row.cells)]


def separator_of(text: str) -> str:
    """The one that the most of the first lines have, outside quotes; a list may begin with a heading."""
    lines = [line for line in text.splitlines() if line.strip()][:LINES_LOOKED_AT]
    outside = ["".join(line.split('"')[::2]) for line in lines]
    return max(SEPARATORS, key=lambda one: (sum(one in line for line in outside), outside[0].count(one)))


def _rows(text: str, separator: str, skipped: int) -> Iterator[Row]:
    # strict: a quote that is never closed would otherwise swallow the rest of the list without a word.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    begins = skipped + 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise Unreadable(N_("Row %(row)s has a quote that does not fit.", row=begins)) from error
        if cells is None:
            return
        yield Row(begins, tuple(plain(cell) for cell in cells))
        begins = skipped + reader.line_num + 1
