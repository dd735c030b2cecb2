"""A step whose page loads a bundle that runs Python in the browser: its page alone may compile WebAssembly."""

from __future__ import annotations

from csp.constants import SELF, WASM_UNSAFE_EVAL
from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponse

from labs.steps.base import Step

_permit = csp_update({"script-src": [WASM_UNSAFE_EVAL], "worker-src": [SELF]})


def permit_bundle(request: HttpRequest, response: HttpResponse, step: Step) -> HttpResponse:
    """The response, with the page's policy widened where the step has a bundle."""
    if step.bundle:
        _permit(lambda _request: response)(request)
    return response
