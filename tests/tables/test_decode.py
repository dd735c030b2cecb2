"""Every encoding that a roster comes in gives the same text; what is none of them is refused with its row."""

from __future__ import annotations

import codecs

import pytest

from labs.tables.decode import decode
from labs.tables.errors import Unreadable
from labs.tables.split import split

TEXT = "이메일,이름\nkim@example.com,김뷁\n"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (TEXT.encode(), "UTF-8"),
        (codecs.BOM_UTF8 + TEXT.encode(), "UTF-8 with BOM"),
        (TEXT.encode("cp949"), "CP949"),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), "UTF-16 with BOM"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "UTF-16 with BOM"),
        (TEXT.encode("utf-16-le"), "UTF-16"),
        (TEXT.encode("utf-16-be"), "UTF-16"),
    ],
)
def test_the_same_text_from_every_encoding(data: bytes, name: str) -> None:
    decoded = decode(data)
    assert (decoded.text, decoded.name) == (TEXT, name)


def test_the_name_is_one_that_euc_kr_does_not_read() -> None:
    with pytest.raises(UnicodeDecodeError):
        TEXT.encode("cp949").decode("euc-kr")


@pytest.mark.parametrize(
    ("data", "row"),
    [
        (b"email,name\na@example.com,ok\nb@example.com,\xff\xfa\n", 3),
        (b"email,name\r\na@example.com,ok\r\nb@example.com,\x80\n", 3),
        (b"email,name\ra@example.com,\xff\r", 2),
        (codecs.BOM_UTF8 + "이름\n김".encode("cp949"), 1),
        (codecs.BOM_UTF16_LE + "a\nb".encode("utf-16-le") + b"\x00\xd8", 2),
        (codecs.BOM_UTF16_LE + "a\nb".encode("utf-16-le") + b"c", 2),
        ("이메일,이름\na@example.com,김\n".encode() + "b@example.com,이\n".encode("cp949"), 3),
    ],
)
def test_bytes_that_are_no_text_name_their_row(data: bytes, row: int) -> None:
    with pytest.raises(Unreadable) as refused:
        decode(data)
    assert refused.value.text.params == {"row": row}


@pytest.mark.parametrize("data", [b"PK\x03\x04...", b"\xd0\xcf\x11\xe0..."])
def test_a_workbook_is_told_apart(data: bytes) -> None:
    with pytest.raises(Unreadable, match="Save it as CSV"):
        decode(data)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_separators_and_line_ends(separator: str, end: str) -> None:
    lines = [["이메일", "이름"], ["a@example.com", "김뷁"], ["", ""], ["b@example.com", '"Lee, ""JJ"""']]
    rows = split(end.join(separator.join(line) for line in lines) + end + end)
    assert [row.cells for row in rows] == [
        ("이메일", "이름"),
        ("a@example.com", "김뷁"),
        ("b@example.com", 'Lee, "JJ"'),
    ]
    assert [row.number for row in rows] == [1, 2, 4]


def test_a_line_end_inside_quotes_is_part_of_the_cell() -> None:
    rows = split('a,b\n"x\ny",1\nz,2\n')
    assert [(row.number, row.cells) for row in rows] == [(1, ("a", "b")), (2, ("x\ny", "1")), (4, ("z", "2"))]


def test_the_line_with_which_a_spreadsheet_names_its_separator() -> None:
    assert [(row.number, row.cells) for row in split("sep=;\r\na;b,c\r\n")] == [(2, ("a", "b,c"))]


def test_a_quote_that_is_never_closed_swallows_nobody() -> None:
    with pytest.raises(Unreadable) as refused:
        split('email,name\na@example.com,"Kim\nb@example.com,Lee\n')
    assert refused.value.text.params == {"row": 2}
