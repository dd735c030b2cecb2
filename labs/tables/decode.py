"""Which encoding a file is in: what spreadsheets and editors in Korea write, and nothing guessed beyond that."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from labs.tables.errors import Unreadable
from labs.text import N_

# The longest first: UTF-32's mark begins with that of UTF-16, and nobody means UTF-32.
MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# Of a file without a mark. Not euc-kr, which lacks most of the syllables that cp949 has.
WITHOUT_MARK = ("utf-8", "cp949")
NAMES = {"utf-8": "UTF-8", "cp949": "CP949", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}
WORKBOOK = b"PK\x03\x04"
OLD_WORKBOOK = b"\xd0\xcf\x11\xe0"


@dataclass(frozen=True, slots=True)
class Decoded:
    text: str
    encoding: str
    has_mark: bool = False

    @property
    def name(self) -> str:
        """'UTF-8 with BOM', as editors call it."""
        return f"{NAMES[self.encoding]} with BOM" if self.has_mark else NAMES[self.encoding]


def decode(data: bytes) -> Decoded:
    """The whole text, exactly. Raises Unreadable with the row of the first byte that is no text."""
    if data.startswith((WORKBOOK, OLD_WORKBOOK)):
        raise Unreadable(N_("This is a workbook. Save it as CSV in your spreadsheet, and give that file."))
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return Decoded(_decoded(data[len(mark) :], (encoding,)).text, encoding, has_mark=True)
    if b"\0" in data:
        return _decoded(data, (_utf16_without_mark(data),))
    return _decoded(data, WITHOUT_MARK)


def _utf16_without_mark(data: bytes) -> str:
    """Commas, line ends and addresses are ASCII: their zero bytes stand on one side."""
    return "utf-16-le" if data[1::2].count(0) >= data[0::2].count(0) else "utf-16-be"


def _decoded(data: bytes, encodings: tuple[str, ...]) -> Decoded:
    furthest = -1
    read = ""
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            if error.start > furthest:
                furthest, read = error.start, data[: error.start].decode(encoding)
            continue
        if "\0" in text:
            furthest, read = text.index("\0"), text[: text.index("\0")]
            break
        return Decoded(text, encoding)
    raise Unreadable(
        N_(
            "Row %(row)s holds bytes that are neither UTF-8, CP949 nor UTF-16. Save the file as UTF-8 and try again.",
            row=rows_in(read),
        )
    )


def rows_in(text: str) -> int:
    """The number of the row in which `text` ends; rows end with LF, CRLF or CR."""
    return text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
