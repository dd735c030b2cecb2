"""Why an attempt waits although it is its turn, as its student reads it."""

from __future__ import annotations

from collections.abc import Mapping

from labs.actions.openings import Shut, Why
from labs.actions.pauses import UNTRIED
from labs.live.status import Status
from labs.models import Course
from labs.rules.clock import written
from labs.text import N_, Text
from labs.views.words import say

WHY: Mapping[Why, Text] = {
    Why.NONE: N_("There is no model server. Tell your instructor; your place is kept."),
    Why.STEP: N_("No model server may run this step just now. Your place is kept."),
    Why.CHECK: UNTRIED,
    Why.BOOKED: N_(
        "The model servers are kept for another class until %(until)s. Your place is kept, and the queue goes on then."
    ),
    Why.PAUSED: N_(
        "An admin has paused the model servers. Your place is kept, and the queue goes on afterwards."
    ),
    Why.AWAY: N_("No model server answers just now. It is tried again by itself, and your place is kept."),
}
# Of these a student is told before anything is sent: they last.
LASTING = (Why.BOOKED, Why.PAUSED)


def why_waits(status: Status | None) -> str:
    """Empty where nothing stands in the way but others."""
    if status is None or not status.why:
        return ""
    return _said(Why(status.why), status.why_note, status.why_until)


def why_shut(shut: Shut | None, course: Course) -> str:
    """The same before a submit."""
    if shut is None or shut.why not in LASTING:
        return ""
    return _said(shut.why, shut.note, written(shut.until, course.zone) if shut.until else "")


def _said(why: Why, note: str, until: str) -> str:
    text = WHY[why]
    said = say(Text(text.msgid, {"until": until}) if until else text)
    return f"{said} {note}" if note else said
