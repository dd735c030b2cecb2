"""One server: what is known of it, what it does now, how it did, and what an admin can do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from labs.actions.console import remove, save, stranded
from labs.actions.managed import said_of
from labs.actions.probe import probe
from labs.llama.log import tail_lines
from labs.models import Booking, CanaryRun, Endpoint
from labs.text import Text
from labs.views.ops.booking_form import BookingForm
from labs.views.ops.endpoint_form import EndpointForm
from labs.views.ops.findings import findings
from labs.views.ops.guard import admin_or_404, endpoint_or_404
from labs.views.ops.log_source import log_of
from labs.views.ops.managed_form import ManagedForm
from labs.views.ops.plot import day_plot
from labs.views.ops.rows import Red, red_of, rows
from labs.views.ops.warnings import warnings_of

ROUNDS_SHOWN, LOG_LINES = 20, 40


@login_required
@never_cache
@require_safe
def endpoint(request: HttpRequest, endpoint_id: int) -> HttpResponse:
    found = endpoint_or_404(request, endpoint_id)
    return render(request, "labs/ops/endpoint.html", endpoint_context(found))


@login_required
@never_cache
@require_safe
def endpoint_now(request: HttpRequest, endpoint_id: int) -> HttpResponse:
    """The part of the page that changes by itself."""
    found = endpoint_or_404(request, endpoint_id)
    (row,) = rows({found.pk})
    return render(request, "labs/ops/now.html", {"row": row, "findings": findings(found)})


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    """Entered and probed at once, so that what is wrong is said at once."""
    user = admin_or_404(request)
    form = EndpointForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        save(form.instance, form.entered, user)
        probe(form.instance, thoroughly=True)
        return redirect("endpoint", form.instance.pk)
    return render(
        request, "labs/ops/endpoint_form.html", {"form": form}, status=422 if form.is_bound else 200
    )


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest, endpoint_id: int) -> HttpResponse:
    found = endpoint_or_404(request, endpoint_id)
    form = EndpointForm(request.POST if request.method == "POST" else None, instance=found)
    if form.is_bound and form.is_valid():
        save(found, form.entered, admin_or_404(request))
        probe(Endpoint.objects.get(pk=found.pk), thoroughly=True)
        return redirect("endpoint", found.pk)
    # The form has written what was entered into its row, which is not what is stored.
    name = Endpoint.objects.values_list("name", flat=True).get(pk=found.pk)
    context = {"form": form, "endpoint": found, "name": name}
    return render(request, "labs/ops/endpoint_form.html", context, status=422 if form.is_bound else 200)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def take_away(request: HttpRequest, endpoint_id: int) -> HttpResponse:
    """What would become of those who wait, and then the removal itself."""
    found = endpoint_or_404(request, endpoint_id)
    if request.method == "POST":
        remove(found, admin_or_404(request), gives_back="give_back" in request.POST)
        return redirect("endpoints")
    (row,) = rows({found.pk})
    return render(request, "labs/ops/remove.html", {"row": row, "stranded": len(stranded(found))})


@dataclass(frozen=True, slots=True)
class ShownRound:
    """One round of canaries, with what was red."""

    run: CanaryRun
    red: Sequence[Red]


def endpoint_context(
    found: Endpoint, booking_form: BookingForm | None = None, problem: Text | None = None
) -> dict[str, Any]:
    (row,) = rows({found.pk})
    log, said = log_of(found), said_of(found)
    bookings = Booking.objects.filter(endpoint=found, ends_at__gt=timezone.now())
    return {
        "row": row,
        "endpoint": found,
        "findings": findings(found),
        "warnings": warnings_of(found, log),
        "rounds": [ShownRound(one, red_of(one.found)) for one in found.canary_runs.all()[:ROUNDS_SHOWN]],
        "plot": day_plot(row.day),
        "log": _log(log),
        "bookings": bookings.select_related("course", "by"),
        "booking_form": booking_form or BookingForm(),
        "problem": problem,
        "managed": said,
        "managed_form": ManagedForm(said) if said is not None else None,
        "now": timezone.now(),
    }


def _log(path: Path | None) -> str | None:
    """None where there is none that may be shown and can be read."""
    lines = tail_lines(path, LOG_LINES) if path is not None else None
    return None if lines is None else "\n".join(lines)
