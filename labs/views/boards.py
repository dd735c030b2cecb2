"""The class's boards: one page for the class and its instructors, with what each may read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from labs.access import may_see
from labs.actions import board as verbs
from labs.actions.errors import Refused
from labs.boards import BOARDS, Audience, Board, board_for, code_name
from labs.models import BoardName, Course, Role
from labs.views.board_rows import rows_html
from labs.views.figures.plot import Plot
from labs.views.guard import course_of_instructor_or_404, course_or_404, who
from labs.views.words import grouped, say

PROJECTED = 20


class NameForm(forms.Form):
    name = forms.CharField(
        required=False,
        max_length=verbs.LONGEST_NAME,
        label=gettext_lazy("Your name on the boards"),
        help_text=gettext_lazy("Empty: a code name that nobody can trace to you."),
    )
    hidden = forms.BooleanField(required=False, label=gettext_lazy("Do not show me on the boards"))


@dataclass(frozen=True, slots=True)
class Shown:
    """A board as its fragment draws it."""

    board: Board
    audience: Audience

    @property
    def rows_html(self) -> SafeString:
        return rows_html(self.board.rows, ranked=self.board.rules.ranked)

    @property
    def plot(self) -> Plot | None:
        """Dots, median and interval, of everybody who is shown."""
        rules, standing = self.board.rules, self.board.standing
        if len(self.board.rows) < 2 or rules.ranked or standing.median is None:
            return None
        values = [(row.place.value, row.place.detail.get("warm_ms")) for row in self.board.rows]
        return Plot(
            kind="spread",
            title=say(rules.title),
            sentence=gettext("%(count)s students; the median of the cold requests is %(median)s ms.")
            % {"count": len(values), "median": grouped(standing.median)},
            data={
                "dots": [
                    {"ms": ms, "kind": kind}
                    for pair in values
                    for kind, ms in zip(("cold", "warm"), pair, strict=True)
                    if ms is not None
                ],
                "names": {"cold": gettext("cold"), "warm": gettext("warm")},
                "median": standing.median,
                "low": standing.low,
                "high": standing.high,
            },
            axes={"x": "TTFT (ms)"},
            head=[],
            rows=[],
        )


@login_required
@never_cache
@require_safe
def boards(request: HttpRequest, course_slug: str) -> HttpResponse:
    return redirect("board", course_or_404(request, course_slug).slug, next(iter(BOARDS)))


@login_required
@never_cache
@require_safe
def board(request: HttpRequest, course_slug: str, key: str) -> HttpResponse:
    course = course_or_404(request, course_slug)
    _board_or_404(key)
    audience = audience_of(request, course)
    own = BoardName.objects.filter(course=course, user=who(request)).first()
    context: dict[str, Any] = {
        "course": course,
        "boards": BOARDS.values(),
        "shown": Shown(board_for(course, key, audience), audience),
        "audience": audience,
        "form": NameForm(initial={"name": own.name, "hidden": own.is_hidden} if own else None),
        "code_name": code_name(course.pk, who(request).pk),
        "language": get_language(),
    }
    return render(request, "labs/board.html", context)


@login_required
@never_cache
@require_safe
def fragment(request: HttpRequest, course_slug: str, key: str) -> HttpResponse:
    """What the socket pushes, for a page that has none."""
    course = course_or_404(request, course_slug)
    _board_or_404(key)
    return HttpResponse(draw(course, key, audience_of(request, course)))


@login_required
@never_cache
@require_safe
def projector(request: HttpRequest, course_slug: str, key: str) -> HttpResponse:
    """For the wall: no names, nobody last, nothing to press."""
    course = course_of_instructor_or_404(request, course_slug)
    _board_or_404(key)
    shown = Shown(board_for(course, key, "class"), "class")
    return render(
        request,
        "labs/projector.html",
        {
            "course": course,
            "shown": shown,
            "rows": shown.board.rows[:PROJECTED],
            "language": get_language(),
        },
    )


@login_required
@require_POST
def my_name(request: HttpRequest, course_slug: str) -> HttpResponse:
    course = course_or_404(request, course_slug)
    form = NameForm(request.POST)
    if form.is_valid():
        try:
            verbs.call_me(who(request), course, form.cleaned_data["name"], hidden=form.cleaned_data["hidden"])
            messages.success(request, gettext("Saved. It holds at once, and for the past too."))
        except Refused as error:
            messages.error(request, say(error.text))
    else:
        messages.error(request, gettext("A name on the boards has at most 24 characters."))
    key = request.POST.get("board", "")
    return redirect("board", course.slug, key) if key in BOARDS else redirect("boards", course.slug)


@login_required
@require_POST
def freeze(request: HttpRequest, course_slug: str, key: str) -> HttpResponse:
    """Freezes, or with `go_on` ends it."""
    course = course_of_instructor_or_404(request, course_slug)
    _board_or_404(key)
    if "go_on" in request.POST:
        verbs.let_go_on(course, key)
    else:
        verbs.freeze(course, key)
    return redirect("board", course.slug, key)


def draw(course: Course, key: str, audience: Audience) -> str:
    """The fragment in the language in force; the same for the page, the fetch and the socket."""
    shown = Shown(board_for(course, key, audience), audience)
    return render_to_string("labs/parts/board.html", {"course": course, "shown": shown})


def audience_of(request: HttpRequest, course: Course) -> Audience:
    return "staff" if may_see(who(request), course) is Role.INSTRUCTOR else "class"


def _board_or_404(key: str) -> None:
    if key not in BOARDS:
        raise Http404
