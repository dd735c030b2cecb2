"""Who gets to these pages: those who run the site. For everybody else there is nothing here."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest

from labs.models import Endpoint
from labs.views.guard import who


def admin_or_404(request: HttpRequest) -> User:
    user = who(request)
    if not user.is_staff:
        raise Http404
    return user


def endpoint_or_404(request: HttpRequest, endpoint_id: int) -> Endpoint:
    admin_or_404(request)
    found = Endpoint.objects.filter(pk=endpoint_id).exclude(state=Endpoint.State.REMOVED)
    endpoint = found.select_related("pool").first()
    if endpoint is None:
        raise Http404
    return endpoint
