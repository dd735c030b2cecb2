"""All servers on one page, and the same rows for the page that stays open."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from labs.views.ops.guard import admin_or_404
from labs.views.ops.rows import rows


@login_required
@never_cache
@require_safe
def endpoints(request: HttpRequest) -> HttpResponse:
    admin_or_404(request)
    return render(request, "labs/ops/endpoints.html", {"rows": rows()})


@login_required
@never_cache
@require_safe
def endpoints_now(request: HttpRequest) -> HttpResponse:
    admin_or_404(request)
    return render(request, "labs/ops/rows.html", {"rows": rows()})
