"""The gradebook's rows as HTML. By hand and not by a template: there are seven thousand cells."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from labs.gradebook.book import Cell, Line, dashed
from labs.models import LIVE
from labs.views.words import NONE, THEIR_STATES, say

_NOBODY = uuid.UUID(int=0)


def marks_of(cell: Cell) -> list[tuple[str, str]]:
    """(kind, words): what stands beside the points. Points by hand say what grading alone gave."""
    marks = []
    if cell.is_given:
        words = (
            _("by hand") if cell.graded is None else _("by hand, graded %(points)s") % {"points": cell.graded}
        )
        marks.append(("given", words))
    if cell.open_points:
        marks.append(("open", _("%(points)s open") % {"points": cell.open_points}))
    if cell.is_late:
        percent = cell.late_percent
        marks.append(("late", _("late, −%(percent)s%%") % {"percent": percent} if percent else _("late")))
    if cell.state in LIVE or (cell.state and cell.points is None):
        marks.append(("state", say(THEIR_STATES[cell.state])))
    return marks


def rows_html(lines: Sequence[Line]) -> SafeString:
    """A row a student: name, number, total, and a cell a step that leads to its evidence."""
    # `reverse` once: it takes longer than all the rest of a cell.
    words = escape(_("View as"))
    before, after = reverse("attempt", args=[_NOBODY]).split(str(_NOBODY))
    return mark_safe("".join(_row(line, before, after, words) for line in lines))  # noqa: S308  each text is escaped


def _row(line: Line, before: str, after: str, words: str) -> str:
    user = line.user
    login = f' <bdi class="hint" translate="no">{escape(user.username)}</bdi>' if line.name else ""
    view_as = ""
    if line.enrolment.left_at is None and user.is_active and not (user.is_staff or user.is_superuser):
        about = f'{words}<span class="hidden"> {escape(line.called)}</span>'
        view_as = f' <button class="quiet" name="user" value="{user.pk}">{about}</button>'
    cells = "".join(_cell(cell, before, after) for cell in line.cells)
    return (
        f'<tr><th scope="row"><bdi>{escape(line.called)}</bdi>{login}{view_as}</th>'
        f'<td class="num">{escape(line.enrolment.number)}</td><td class="num total">{line.total}</td>{cells}</tr>\n'
    )


def _cell(cell: Cell, before: str, after: str) -> str:
    if cell.attempt_id is None:
        return "<td></td>"
    points = NONE if cell.points is None else cell.points
    marks = "".join(f' <i class="mark-{kind}">{escape(words)}</i>' for kind, words in marks_of(cell))
    return f'<td><a href="{before}{dashed(cell.attempt_id)}{after}">{points}</a>{marks}</td>'
