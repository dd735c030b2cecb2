"""For supervisors, load balancers and Prometheus: alive, ready, and the figures."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from redis import RedisError

from labs.live.redis_writer import connect
from labs.metrics import database, ready, share

TEXT = "text/plain; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


@never_cache
@require_safe
def healthz(_request: HttpRequest) -> HttpResponse:
    """The process answers. Nothing else is asked: a database that is away is no reason to start this one again."""
    return HttpResponse("ok\n", content_type="text/plain")


@never_cache
@require_safe
def readyz(_request: HttpRequest) -> HttpResponse:
    """503 while the database cannot be asked or lacks a migration. A missing Redis is said, but pages live without it:
    to take every web process out for that would turn paused live updates into a site that is down."""
    try:
        if not ready.database_answers():
            return _missing("database")
        if not ready.is_migrated():
            return _missing("migrations")
    except DatabaseError:
        return _missing("database")
    said = "ready\n" if ready.redis_answers() else "ready\nredis: missing, live updates pause\n"
    return HttpResponse(said, content_type=TEXT)


def _missing(what: str) -> HttpResponse:
    return HttpResponse(f"{what}: missing\n", content_type=TEXT, status=503)


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """For whoever brings LABHUB_METRICS_TOKEN, and for staff that are logged in; for others it is not there."""
    if not _may_read(request):
        raise Http404
    registry = CollectorRegistry()
    registry.register(_Everything())
    return HttpResponse(generate_latest(registry), content_type=PROMETHEUS)


def _may_read(request: HttpRequest) -> bool:
    token = settings.LABHUB_METRICS_TOKEN
    given = request.headers.get("Authorization", "")
    if token and given:
        return constant_time_compare(given, f"Bearer {token}")
    return bool(request.user.is_active and request.user.is_staff)


class _Everything(Collector):
    def collect(self) -> Iterator[Metric]:
        try:
            known = list(database.families())
        except DatabaseError:
            known = []
        yield _up("database", bool(known))
        yield from known
        own = share.said_now("web")
        client = connect(settings.REDIS_URL)
        try:
            others = [said for said in share.read(client) if said.process != own.process]
            redis_is_up = True
        except RedisError:
            others, redis_is_up = [], False
        finally:
            client.close()
        yield _up("redis", redis_is_up)
        yield from share.families_of([own, *others])


def _up(what: str, is_up: bool) -> Metric:
    return GaugeMetricFamily(f"labhub_{what}_up", f"1 while this process reaches its {what}.", float(is_up))
