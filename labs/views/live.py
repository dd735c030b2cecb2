"""An attempt's state and events over HTTP: what a page polls while its socket is down."""

from __future__ import annotations

from uuid import UUID

import redis
from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from labs.access import attempt_for
from labs.actions.errors import NotFound
from labs.live.events import EventId
from labs.live.redis_writer import connect
from labs.live.replay import read_since
from labs.live.status import statuses


@require_GET
@never_cache
def events(request: HttpRequest, attempt_id: UUID) -> JsonResponse:
    """`?after=<run>.<seq>` -> {"state", "events", "complete", "after"}. The messages are the socket's.

    401 when logged out, 404 to outsiders. Without Redis the state still comes, with no events and not complete.
    """
    if not request.user.is_authenticated:
        return JsonResponse({"error": "logged_out"}, status=401)
    try:
        attempt = attempt_for(request.user, attempt_id)
    except NotFound:
        return JsonResponse({"error": "not_found"}, status=404)
    after = EventId.parse(request.GET.get("after"))
    # Before the events: when this says that the run is over, all of it is there to be read.
    state = statuses([attempt.pk])[attempt.pk].message()
    with connect(settings.REDIS_URL) as client:
        try:
            found, complete, after = read_since(client, attempt.pk, after)
        except redis.RedisError:
            found, complete = [], False
    return JsonResponse({"state": state, "events": found, "complete": complete, "after": str(after)})
