"""What an admin does with a server by pressing a button on its page."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from labs.actions import console
from labs.actions.bookings import book, unbook
from labs.actions.endpoint import LONGEST_NOTE, try_canaries
from labs.actions.errors import Refused
from labs.actions.managed import ask_for, said_of
from labs.actions.probe import probe
from labs.actions.wake import wake_drivers_after_commit
from labs.llama.wanted import Wanted
from labs.models import Booking, Endpoint
from labs.views.guard import LOOKS_LIKE_AN_ID
from labs.views.ops.booking_form import BookingForm
from labs.views.ops.endpoint import endpoint_context
from labs.views.ops.guard import admin_or_404, endpoint_or_404
from labs.views.ops.managed_form import ManagedForm
from labs.views.words import say


@login_required
@require_POST
def do(request: HttpRequest, endpoint_id: int) -> HttpResponse:
    """`do` is one of VERBS; `note` says why to those who wait."""
    found, user = endpoint_or_404(request, endpoint_id), admin_or_404(request)
    verb = VERBS.get(request.POST.get("do", ""))
    if verb is None:
        raise Http404
    note = request.POST.get("note", "").replace("\0", "").strip()[:LONGEST_NOTE]
    try:
        messages.success(request, verb(found, note, user))
    except Refused as error:
        messages.warning(request, say(error.text))
    return redirect("endpoint", found.pk)


@login_required
@require_POST
def bookings(request: HttpRequest, endpoint_id: int) -> HttpResponse:
    """Makes one, or with `end` ends one of this server's."""
    found, user = endpoint_or_404(request, endpoint_id), admin_or_404(request)
    if ended := request.POST.get("end", ""):
        booking = Booking.objects.filter(
            endpoint=found, pk=int(ended) if LOOKS_LIKE_AN_ID.fullmatch(ended) else 0
        ).first()
        if booking is None:
            raise Http404
        unbook(booking, user)
        messages.success(request, _("The booking has ended. Everybody's attempts go there again."))
        return redirect("endpoint", found.pk)
    form, problem = BookingForm(request.POST), None
    if form.is_valid():
        given = form.cleaned_data
        endpoints = [found]
        if given["whole_pool"] and found.pool_id:
            endpoints = list(Endpoint.objects.filter(pool=found.pool_id))
        try:
            book(endpoints, given["course"], given["starts_at"], given["ends_at"], user)
        except Refused as error:
            problem = error.text
        else:
            messages.success(request, _("Booked. In that time only this course's attempts go there."))
            return redirect("endpoint", found.pk)
    return render(request, "labs/ops/endpoint.html", endpoint_context(found, form, problem), status=422)


@login_required
@require_POST
def server(request: HttpRequest, endpoint_id: int) -> HttpResponse:
    """Starts the embedded server anew as the form wants it, or with `do=stop` stops it."""
    found, user = endpoint_or_404(request, endpoint_id), admin_or_404(request)
    said = said_of(found)
    if said is None:
        raise Http404
    form, stops = ManagedForm(said, request.POST), request.POST.get("do") == "stop"
    problem = None
    if stops or form.is_valid():
        try:
            ask_for(found, Wanted(runs=False) if stops else form.wanted(), user)
        except Refused as error:
            problem = error.text
        else:
            messages.success(request, _("Its keeper does it within seconds; what comes of it is said below."))
            return redirect("endpoint", found.pk)
    context = endpoint_context(found) | {"managed_form": form, "managed_problem": problem}
    return render(request, "labs/ops/endpoint.html", context, status=422)


def _probe(endpoint: Endpoint, _note: str, _user: User) -> str:
    """What can be asked at once; the rest is tried by a worker, who alone may hold the server for it."""
    probe(endpoint, thoroughly=True)
    with transaction.atomic():
        try_canaries(Endpoint.objects.filter(pk=endpoint.pk))
        wake_drivers_after_commit()
    return _("It has been asked. How answers arrive, and whether closing is passed on, a worker tries next.")


def _drain(endpoint: Endpoint, note: str, user: User) -> str:
    console.drain(endpoint, note, user)
    return _("Drained: what runs goes on to its end, nothing new begins.")


def _pause(endpoint: Endpoint, note: str, user: User) -> str:
    if console.pause_now(endpoint, note, user):
        return _("Paused. What ran is back at the head of the queue, at no cost.")
    return _("Paused. Nothing ran there.")


def _resume(endpoint: Endpoint, _note: str, user: User) -> str:
    if not console.resume(endpoint, user):
        return _("It was not paused.")
    probe(Endpoint.objects.get(pk=endpoint.pk))
    return _("It is back. The queue has kept its order.")


def _accept(endpoint: Endpoint, _note: str, user: User) -> str:
    console.accept(endpoint, user)
    for other in Endpoint.objects.filter(pool=endpoint.pool_id).exclude(state=Endpoint.State.REMOVED):
        probe(other)
    return _("Accepted: its pool is from now on what this server is, and boards begin a new class.")


VERBS: Mapping[str, Callable[[Endpoint, str, User], str]] = {
    "probe": _probe,
    "drain": _drain,
    "pause": _pause,
    "resume": _resume,
    "accept": _accept,
}
