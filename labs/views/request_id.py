"""Every request has an id: the proxy's or one of ours. It stands in the answer and in every line logged meanwhile."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from labs.logs import bound
from labs.metrics.own import REQUESTS

log = logging.getLogger("labs.requests")

HEADER = "X-Request-ID"
FIT = re.compile(r"[A-Za-z0-9._-]{8,64}")
# Asked for every few seconds by supervisors.
QUIET = ("/healthz", "/readyz", "/metrics")


def give_id(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware, the outermost: it also writes the one line a request. The path only: a query may hold anything."""

    def answer(request: HttpRequest) -> HttpResponse:
        given = request.headers.get(HEADER, "")
        request_id = given if FIT.fullmatch(given) else uuid.uuid4().hex
        request.labhub_id = request_id  # type: ignore[attr-defined]  # for what is logged of it later
        began_s = time.perf_counter()
        with bound(request=request_id):
            response = get_response(request)
            if request.path not in QUIET:
                took_s = time.perf_counter() - began_s
                REQUESTS.labels(f"{response.status_code // 100}xx").observe(took_s)
                log.info(
                    "%s %s %d %.0f ms", request.method, request.path, response.status_code, took_s * 1000
                )
        response[HEADER] = request_id
        return response

    return answer
