"""The circuit breaker of an endpoint: after a few failures in a row nothing is sent for a while, then one canary."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.db.models import F, Q
from django.db.models.functions import Now

from labs.actions.storable import storable
from labs.models import Endpoint

log = logging.getLogger(__name__)

FAILURES = 3
FIRST_REST_S = 10
LONGEST_REST_S = 300
# What a probe of `/health` may not lift: a person, the breaker or the pool's rule put it there.
HELD = (
    Endpoint.State.PAUSED,
    Endpoint.State.RESTING,
    Endpoint.State.QUARANTINED,
    Endpoint.State.REMOVED,
)
NOT_OF_ITS_POOL = "another model, build or size than its pool has"


def succeeded(endpoint: Endpoint) -> None:
    """A run or a canary ended as it should. A rest that somebody else's failure began stays: only `close` ends it."""
    resting = Endpoint.State.RESTING
    Endpoint.objects.filter(pk=endpoint.pk, failures__gt=0).exclude(state=resting).update(failures=0)


def failed(endpoint: Endpoint, detail: str) -> None:
    """The server was at fault. The third time in a row opens the breaker; each further one doubles the rest."""
    here = Endpoint.objects.filter(pk=endpoint.pk, base_url=endpoint.base_url)
    here.update(failures=F("failures") + 1)
    failures = here.values_list("failures", flat=True).first() or 0
    if failures < FAILURES:
        return
    rest_s = min(FIRST_REST_S * 2 ** min(failures - FAILURES, 10), LONGEST_REST_S)
    # Also of one that was just found down: a server that is well until it is asked for tokens comes back up each time.
    opened = here.exclude(state__in=HELD).update(
        state=Endpoint.State.RESTING,
        detail=storable(detail[:300]),
        rest_until=Now() + timedelta(seconds=rest_s),
    )
    if opened:  # one alert for one opening, however many runs fail
        log.error("endpoint %s rests: %s failures in a row, the last: %s", endpoint, failures, detail)
    else:
        here.filter(state=Endpoint.State.RESTING).update(rest_until=Now() + timedelta(seconds=rest_s))


def still_wrong(endpoint: Endpoint, detail: str) -> None:
    """The canary at the end of a rest came back red: the next rest is longer. One that is up is left to its pauses."""
    if Endpoint.objects.filter(pk=endpoint.pk, state=Endpoint.State.RESTING).exists():
        failed(endpoint, detail)


def close(endpoint: Endpoint) -> None:
    """The canary came back: runs may go there again, unless it came back as another server than its pool has."""
    here = Endpoint.objects.filter(pk=endpoint.pk, state=Endpoint.State.RESTING)
    rested = {"failures": 0, "rest_until": None}
    fits = Q(pool=None) | Q(pool__fingerprint="") | Q(pool__fingerprint=F("fingerprint"))
    if here.filter(fits).update(state=Endpoint.State.UP, detail="", **rested):
        log.warning("endpoint %s is back", endpoint)
    elif here.update(state=Endpoint.State.QUARANTINED, detail=NOT_OF_ITS_POOL, **rested):
        log.error("endpoint %s is back, and kept out: %s", endpoint, NOT_OF_ITS_POOL)
