"""A board as CSV and as a workbook: the same rows that the page has, for the same audience."""

from __future__ import annotations

from collections.abc import Iterator

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from labs.boards import BOARDS, Audience, Board, board_for
from labs.models import Course
from labs.rules.clock import local_of
from labs.tables.write import CSV_TYPE, XLSX_TYPE, Cell, csv_file, xlsx_file
from labs.views.boards import audience_of
from labs.views.guard import course_or_404
from labs.views.words import person, say

WIDTHS = [8, 24, 18, 16, 16, 16, 16, 24]


@login_required
@never_cache
@require_safe
def board_csv(request: HttpRequest, course_slug: str, key: str) -> HttpResponse:
    course, board, audience = _asked(request, course_slug, key)
    return _file(course, board, audience, "csv", csv_file(table_of(board, audience, course.zone)), CSV_TYPE)


@login_required
@never_cache
@require_safe
def board_xlsx(request: HttpRequest, course_slug: str, key: str) -> HttpResponse:
    course, board, audience = _asked(request, course_slug, key)
    data = xlsx_file(table_of(board, audience, course.zone), say(board.rules.title), WIDTHS)
    return _file(course, board, audience, "xlsx", data, XLSX_TYPE)


def table_of(board: Board, audience: Audience, zone: str) -> Iterator[list[Cell]]:
    """Titles first. Who is named how, who is left out and what a frozen board holds was decided by `board_for`."""
    rules, is_staff = board.rules, audience == "staff"
    yield [
        *([_("Rank")] if rules.ranked else []),
        _("Student"),
        *([_("Login")] if is_staff else []),
        f"{say(rules.value_head)}, {rules.unit}",
        *(say(head) for head in rules.columns.values()),
        *([_("Shown to the class")] if is_staff else []),
        _("As of"),
    ]
    frozen_at = None if is_staff else board.frozen_at
    as_of = f"{local_of(frozen_at or timezone.now(), zone):%Y-%m-%d %H:%M} {zone}"
    if frozen_at is not None:
        as_of += " " + _("(frozen)")
    for row in board.rows:
        user = row.user if is_staff else None
        yield [
            *([row.place.rank] if rules.ranked else []),
            person(user) if user is not None else row.who,
            *([user.get_username() if user is not None else ""] if is_staff else []),
            row.place.value,
            *row.columns,
            *([_("no") if row.is_hidden else _("yes")] if is_staff else []),
            as_of,
        ]


def _asked(request: HttpRequest, course_slug: str, key: str) -> tuple[Course, Board, Audience]:
    """An instructor may ask for what the class sees; a student gets nothing else."""
    course = course_or_404(request, course_slug)
    if key not in BOARDS:
        raise Http404
    audience = audience_of(request, course)
    if request.GET.get("as") == "class":
        audience = "class"
    return course, board_for(course, key, audience), audience


def _file(
    course: Course, board: Board, audience: Audience, ending: str, data: bytes, content_type: str
) -> HttpResponse:
    today = f"{local_of(timezone.now(), course.zone):%Y-%m-%d}"
    response = HttpResponse(data, content_type=content_type)
    response["Content-Disposition"] = (
        f'attachment; filename="{course.slug}-board-{board.rules.key}-{audience}-{today}.{ending}"'
    )
    return response
