"""What a round hands out for a terminal, drawn for this student and attempt."""

from __future__ import annotations

import mimetypes

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from labs.rules.window import Door
from labs.sheets import sheet_for
from labs.views.guard import course_or_404, step_or_404, who


@login_required
@never_cache
@require_safe
def step_file(request: HttpRequest, course_slug: str, step_key: str, name: str) -> HttpResponse:
    """A file of the round that waits for the student; 404 where none has that name, and before the step opens."""
    sheet = sheet_for(who(request), course_or_404(request, course_slug), step_or_404(step_key))
    text = sheet.round.files(sheet.challenge, sheet.seen).get(name) if sheet.round is not None else None
    if text is None or sheet.terms.window.standing(timezone.now()).door is Door.EARLY:
        raise Http404
    kind = mimetypes.guess_type(name)[0] or "text/plain"
    response = HttpResponse(text, content_type=f"{kind}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response
