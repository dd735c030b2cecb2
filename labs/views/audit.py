"""The audit, for those who run the site: who changed what, as whom, from where."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from labs.models import AuditRow
from labs.models.audit import Verb
from labs.text import N_, Text
from labs.views.guard import who
from labs.views.words import say

PAGE = 100
LARGEST_ID = 2**63 - 1

VERBS: Mapping[str, Text] = {
    Verb.ENROLLED: N_("taken in by a list"),
    Verb.JOINED: N_("joined by the code"),
    Verb.LEFT: N_("marked as left"),
    Verb.CAME_BACK: N_("taken in again"),
    Verb.CORRECTED: N_("name, number or address corrected"),
    Verb.CODE_DRAWN: N_("enrolment code drawn"),
    Verb.CODE_ENDED: N_("enrolment code ended"),
    Verb.LOGIN_LINK: N_("login link made"),
    Verb.PASSWORD_SET: N_("password set by a link"),
    Verb.POINTS_GIVEN: N_("points given"),
    Verb.POINTS_ENDED: N_("points by hand ended"),
    Verb.REGRADED: N_("regrade applied"),
    Verb.RULES_SET: N_("rules set"),
    Verb.RELEASED: N_("scores released"),
    Verb.EXTENDED: N_("extension given"),
    Verb.SHOWN: N_("run shown to the class"),
    Verb.WITHDRAWN: N_("run no longer shown to the class"),
    Verb.PAIRED: N_("pair begun"),
    Verb.UNPAIRED: N_("pair ended"),
    Verb.SCHOOL_LINKED: N_("linked to the school's login"),
    Verb.VIEW_BEGAN: N_("began to view as a student"),
    Verb.VIEW_ENDED: N_("stopped viewing as a student"),
    Verb.ERASED: N_("personal data erased"),
    Verb.ADDED: N_("added by an admin"),
    Verb.CHANGED: N_("changed by an admin"),
    Verb.DELETED: N_("deleted by an admin"),
    Verb.DONE: N_("done by an admin"),
}


@dataclass(frozen=True, slots=True)
class Shown:
    row: AuditRow
    verb: str
    details: str


@login_required
@never_cache
@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    """Newest first, a hundred a page. `q`: each word must be part of a login, of the course's address, of what was
    changed, or be the address it came from."""
    if not who(request).is_staff:
        raise Http404
    words, verb = request.GET.get("q", "")[:200], request.GET.get("verb", "")
    before = request.GET.get("before", "")
    rows = _found(words, verb)
    if before.isdecimal() and int(before) <= LARGEST_ID:
        rows = rows.filter(pk__lt=int(before))
    page = list(rows.select_related("course", "as_user")[: PAGE + 1])
    shown = [Shown(row, say(VERBS.get(row.verb, row.verb)), _details(row)) for row in page[:PAGE]]
    older = {"q": words, "verb": verb, "before": str(shown[-1].row.pk)} if len(page) > PAGE else None
    context = {
        "rows": shown,
        "words": words,
        "verb": verb,
        "verbs": [(key, say(text)) for key, text in VERBS.items()],
        "older": urlencode({name: value for name, value in older.items() if value}) if older else "",
    }
    return render(request, "labs/audit.html", context)


def _found(words: str, verb: str) -> QuerySet[AuditRow]:
    rows = AuditRow.objects.order_by("-pk")
    if verb in VERBS:
        rows = rows.filter(verb=verb)
    for word in words.replace("\0", "").split():
        rows = rows.filter(
            Q(by_login__icontains=word)
            | Q(whom_login__icontains=word)
            | Q(what__icontains=word)
            | Q(course__slug__icontains=word)
            | Q(as_user__username__icontains=word)
            | Q(address__icontains=word)
        )
    return rows


def _details(row: AuditRow) -> str:
    """A name and its value, one after the other; what is no plain value as it is stored."""
    shown = {
        name: value if isinstance(value, str | int) else json.dumps(value, ensure_ascii=False)
        for name, value in row.details.items()
    }
    return ", ".join(f"{name}: {value}" for name, value in shown.items())
