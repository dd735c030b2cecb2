"""The gradebook, for a course's instructors: on a page, as CSV, and as a workbook. One reading for all three."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from labs.gradebook.book import Cell, Gradebook, Line, gradebook_of
from labs.gradebook.order import FILTERS, chosen, ordered
from labs.models import Course
from labs.rules.clock import local_of
from labs.tables.write import CSV_TYPE, XLSX_TYPE, csv_file, xlsx_file
from labs.tables.write import Cell as TableCell
from labs.text import N_, Text
from labs.views.gradebook_cells import marks_of, rows_html
from labs.views.guard import course_of_instructor_or_404
from labs.views.words import say

SHOWN: dict[str, Text] = {
    "": N_("Everyone"),
    "open": N_("Points left open"),
    "given": N_("Points by hand"),
    "late": N_("Late work"),
    "missing": N_("Something without a grade"),
    "nothing": N_("No grade at all"),
    "left": N_("Have left"),
}
assert set(FILTERS) | {"", "left"} == set(SHOWN)


@dataclass(frozen=True, slots=True)
class Head:
    """A column's title as a link that orders by it; pressed again, the other way round. `order` is as ARIA says it."""

    title: str
    link: str
    order: str
    note: str = ""
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks for. The exports take the same, so they hold what the page shows."""

    sort: str
    show: str
    words: str

    @classmethod
    def of(cls, request: HttpRequest) -> Asked:
        get = request.GET
        show = get.get("show", "")
        return cls(get.get("sort", "name"), show if show in SHOWN else "", get.get("q", "")[:100])

    def lines(self, book: Gradebook) -> list[Line]:
        return chosen(ordered(book, self.sort), self.show, self.words)

    def query(self, sort: str = "") -> str:
        asked = {"sort": sort or self.sort, "show": self.show, "q": self.words}
        return urlencode({name: value for name, value in asked.items() if value})

    def head(self, key: str, title: str, *, first: str = "", note: str = "", is_number: bool = False) -> Head:
        """`first` is '-' where one wants to see the largest first."""
        other = "" if first else "-"
        now = {f"{first}{key}": f"{other}{key}"}.get(self.sort, f"{first}{key}")
        order = {key: "ascending", f"-{key}": "descending"}.get(self.sort, "none")
        return Head(title, "?" + self.query(now), order, note, is_number)


@login_required
@never_cache
@require_safe
def gradebook(request: HttpRequest, course_slug: str) -> HttpResponse:
    course = course_of_instructor_or_404(request, course_slug)
    book, asked = gradebook_of(course), Asked.of(request)
    lines = asked.lines(book)
    context = {
        "course": course,
        "book": book,
        "asked": asked,
        "query": asked.query(),
        "heads": list(_heads(book, asked)),
        "rows": rows_html(lines),
        "count": len(lines),
        "choices": [(key, say(title)) for key, title in SHOWN.items()],
        "held": any(column.is_held for column in book.columns),
    }
    return render(request, "labs/gradebook.html", context)


@login_required
@never_cache
@require_safe
def gradebook_csv(request: HttpRequest, course_slug: str) -> HttpResponse:
    course = course_of_instructor_or_404(request, course_slug)
    book = gradebook_of(course)
    return _file(course, "csv", csv_file(table_of(book, Asked.of(request).lines(book))), CSV_TYPE)


@login_required
@never_cache
@require_safe
def gradebook_xlsx(request: HttpRequest, course_slug: str) -> HttpResponse:
    course = course_of_instructor_or_404(request, course_slug)
    book = gradebook_of(course)
    widths = [14, 18, 24, 28, *(12 for _column in book.columns), 10, 40]
    data = xlsx_file(table_of(book, Asked.of(request).lines(book)), course.title, widths)
    return _file(course, "xlsx", data, XLSX_TYPE)


def table_of(book: Gradebook, lines: Sequence[Line]) -> Iterator[list[TableCell]]:
    """Rows with their titles first. A roster reads it again: the titles of the first columns are those it knows."""
    steps = [f"{say(column.step.title)} / {column.worth}" for column in book.columns]
    yield [
        _("Student number"),
        _("Name"),
        _("Login"),
        _("E-mail"),
        *steps,
        f"{_('Total')} / {book.most}",
        _("Notes"),
    ]
    for line in lines:
        user = line.user
        yield [
            line.enrolment.number,
            line.name,
            user.username,
            user.email,
            *(cell.points for cell in line.cells),
            line.total,
            "; ".join(
                f"{say(column.step.title)}: {_note(cell)}"
                for column, cell in zip(book.columns, line.cells, strict=True)
                if _note(cell)
            ),
        ]


def _note(cell: Cell) -> str:
    said = [mark for _kind, mark in marks_of(cell)]
    return ", ".join([*said, cell.comment] if cell.comment else said)


def _heads(book: Gradebook, asked: Asked) -> Iterator[Head]:
    yield asked.head("name", _("Name"))
    yield asked.head("number", _("Student number"))
    yield asked.head("total", _("Total"), first="-", note=f"/ {book.most}", is_number=True)
    for column in book.columns:
        note = f"/ {column.worth}" + (f" ({_('held back')})" if column.is_held else "")
        yield asked.head(column.step.key, say(column.step.title), first="-", note=note, is_number=True)


def _file(course: Course, ending: str, data: bytes, content_type: str) -> HttpResponse:
    name = f"{course.slug}-grades-{local_of(timezone.now(), course.zone):%Y-%m-%d}.{ending}"
    response = HttpResponse(data, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
