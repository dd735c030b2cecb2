"""Everything that is not final, and what an admin can do with many of it at once."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from labs.actions.stuck import Do, Seen, act
from labs.views.ops.guard import admin_or_404
from labs.views.ops.stuck_rows import stuck_rows

DO = {"requeue": Do.REQUEUE, "give-back": Do.GIVE_BACK, "end": Do.END}
LARGEST_VERSION = 2**31


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def stuck(request: HttpRequest) -> HttpResponse:
    """A posted `attempt` is `id:version`: what has moved on since the page was made is left alone."""
    user = admin_or_404(request)
    if request.method != "POST":
        rows, count = stuck_rows()
        return render(request, "labs/ops/stuck.html", {"rows": rows, "count": count})
    do = DO.get(request.POST.get("do", ""))
    if do is None:
        raise Http404
    done, left = act(do, [_seen(text) for text in request.POST.getlist("attempt")], user)
    if done:
        text = ngettext("Done for %(n)s attempt.", "Done for %(n)s attempts.", done)
        messages.success(request, text % {"n": done})
    if left:
        text = ngettext(
            "%(n)s attempt had moved on meanwhile, or this cannot be done to it; it was left alone.",
            "%(n)s attempts had moved on meanwhile, or this cannot be done to them; they were left alone.",
            left,
        )
        messages.warning(request, text % {"n": left})
    if not done and not left:
        messages.warning(request, _("Nothing was ticked."))
    return redirect("stuck")


def _seen(text: str) -> Seen:
    attempt_id, _colon, version = text.partition(":")
    try:
        seen = Seen(UUID(attempt_id), int(version))
    except ValueError as error:
        raise Http404 from error
    if not 0 < seen.version < LARGEST_VERSION:
        raise Http404
    return seen
