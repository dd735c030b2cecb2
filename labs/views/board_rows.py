"""A board's rows as HTML. By hand and not by a template: there are hundreds, and all of them once a second."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from labs.boards import Row
from labs.views.words import NONE, grouped, person

_NOBODY = uuid.UUID(int=0)


def rows_html(rows: Sequence[Row], *, ranked: bool) -> SafeString:
    """Rank where there is one, who, the value that ranks, and the other columns. Instructors get a link to the
    evidence."""
    # `reverse` once: it takes longer than all the rest of a row.
    before, after = reverse("attempt", args=[_NOBODY]).split(str(_NOBODY))
    # The catalogs' extractor does not look into an f-string.
    words = escape(_("not shown to the class"))
    hidden = f' <span class="hint">({words})</span>'

    def row_html(row: Row) -> str:
        numbers = [row.place.value, *row.columns]
        rank = _number(row.place.rank) if ranked else ""
        who = f"<bdi>{escape(row.who)}</bdi>"
        if row.attempt and row.user is not None:
            who = f'<a href="{before}{escape(row.attempt)}{after}"><bdi>{escape(person(row.user))}</bdi></a>'
        return (
            f'<tr>{rank}<th scope="row">{who}{hidden if row.is_hidden else ""}</th>'
            f"{''.join(map(_number, numbers))}</tr>"
        )

    return mark_safe("".join(map(row_html, rows)))  # noqa: S308  each text is escaped


def _number(value: float | None) -> str:
    return f'<td class="num">{NONE if value is None else grouped(value)}</td>'
