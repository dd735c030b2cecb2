"""A recording's stream as data for the player (static/labs/replay.js)."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from labs.measure.frames import unpack_frames
from labs.measure.recording import Recording
from labs.measure.replay import Mark, MarkName, replay
from labs.models import FrameStore
from labs.text import N_, Text
from labs.views.guard import attempt_or_404
from labs.views.words import say

MARKS: Mapping[MarkName, Text] = {
    "headers": N_("headers"),
    "role": N_("role"),
    "first_token": N_("first token"),
    "first_sentence": N_("first sentence"),
    "last_token": N_("last token"),
    "cut": N_("cut"),
    "idle": N_("slot idle"),
    "end": N_("end"),
}


@login_required
@never_cache
@require_safe
def replay_data(request: HttpRequest, attempt_id: UUID, run: int, key: str) -> JsonResponse:
    """{"frames": [[at_us, kind, text, raw]], "marks": [[at_us, name, words]], "end_us"}; 404 where none are kept."""
    found, _step = attempt_or_404(request, attempt_id)
    stores = FrameStore.objects.select_related("recording").filter(
        recording__run__attempt=found, recording__run__number=run, recording__key=key
    )
    if (store := stores.first()) is None:
        raise Http404
    return replay_json(store)


def replay_json(store: FrameStore) -> JsonResponse:
    """Of a store with its recording."""
    shown = replay(Recording.from_json(store.recording.data, unpack_frames(bytes(store.blob))))
    return JsonResponse(
        {
            "frames": [[frame.at_us, frame.kind, frame.text, frame.raw] for frame in shown.frames],
            "marks": [[mark.at_us, mark.name, _words(mark)] for mark in shown.marks],
            "end_us": shown.end_us,
        }
    )


def _words(mark: Mark) -> str:
    if mark.name == "progress":
        return say(N_("progress %(done)s of %(total)s", done=mark.done, total=mark.total))
    return say(MARKS[mark.name])
