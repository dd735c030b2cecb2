"""From where a request comes, for the audit."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from labs.actions.audit import Origin, coming_from


def remember_origin(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: what a view changes is recorded with the address that asked for it."""

    def answer(request: HttpRequest) -> HttpResponse:
        with coming_from(Origin(address_of(request))):
            return get_response(request)

    return answer


def address_of(request: HttpRequest) -> str | None:
    """Behind a proxy the last address that it wrote; what stands before that anybody can have written."""
    text = str(request.META.get("REMOTE_ADDR", ""))
    if settings.SECURE_PROXY_SSL_HEADER:
        text = request.headers.get("X-Forwarded-For", text).rpartition(",")[2].strip()
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None
