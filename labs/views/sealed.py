"""The frame in which an instructor's browser runs students' code: a page without an origin, network or storage."""

from __future__ import annotations

import secrets

from csp.constants import NONE, SELF, WASM_UNSAFE_EVAL
from csp.decorators import csp, csp_update
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_safe

_permit = csp_update({"frame-src": [SELF]})


@login_required
@never_cache
@require_safe
@xframe_options_sameorigin
def frame(request: HttpRequest) -> HttpResponse:
    """Its workers come from `data:` addresses and have its policy: scripts by a nonce that no code in them knows."""
    nonce = secrets.token_urlsafe(16)
    policy = {
        "sandbox": ["allow-scripts"],
        "default-src": [NONE],
        "script-src": [f"'nonce-{nonce}'", WASM_UNSAFE_EVAL],
        "worker-src": ["data:"],
        "base-uri": [NONE],
        "form-action": [NONE],
        "frame-ancestors": [SELF],
    }
    response = render(request, "labs/sealed.html", {"nonce": nonce})
    return _with(policy, request, response)


def permit_frame(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """The response, with the page's policy widened by the frame."""
    _permit(lambda _request: response)(request)
    return response


def _with(policy: dict[str, list[str]], request: HttpRequest, response: HttpResponse) -> HttpResponse:
    csp(policy)(lambda _request: response)(request)
    return response
