"""Rows as a file that opens right in a spreadsheet, also in a Korean one. Numbers stay numbers."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterable, Sequence
from decimal import Decimal

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.utils import get_column_letter

from labs.tables.cells import inert

Cell = str | int | float | Decimal | None

CSV_TYPE = "text/csv; charset=utf-8"
XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def csv_file(rows: Iterable[Sequence[Cell]]) -> bytes:
    """UTF-8 with a byte order mark, without which Excel reads Hangul as CP949."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerows([inert(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return codecs.BOM_UTF8 + out.getvalue().encode()


def xlsx_file(rows: Iterable[Sequence[Cell]], title: str, widths: Sequence[int] = ()) -> bytes:
    """One sheet whose first row stays in sight. Every text is a text cell, whatever it begins with."""
    book = Workbook(write_only=True)
    sheet = book.create_sheet(_sheet_title(title))
    sheet.freeze_panes = "A2"
    for number, width in enumerate(widths, start=1):
        sheet.column_dimensions[get_column_letter(number)].width = width
    for row in rows:
        sheet.append([_text_cell(sheet, cell) if isinstance(cell, str) else cell for cell in row])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _text_cell(sheet: object, text: str) -> object:
    cell = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("", text))
    cell.data_type = "s"  # by itself openpyxl takes '=' for a formula and '#N/A' for an error
    if inert(text) != text:
        cell.quotePrefix = True  # a text also after a person has edited it
    return cell


def _sheet_title(title: str) -> str:
    """At most 31 characters, and none of []:*?/\\ ."""
    return "".join(" " if c in "[]:*?/\\" else c for c in title).strip("' ")[:31] or "Sheet"
