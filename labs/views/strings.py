"""The sentences that static/labs/*.js shows, in the reader's language. Events carry codes, the page the words."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from django.utils.translation import get_language, gettext_noop
from django.utils.translation import gettext as _

from labs.views.waits import WHY
from labs.views.words import ENDS, STATES, say

FIGURES = gettext_noop(
    "TTFT %(ttft)s · cache_n %(cache_n)s · prompt_n %(prompt_n)s · predicted_n %(predicted_n)s"
)


def strings() -> Mapping[str, str]:
    """By the name the script asks for; %(name)s places are filled there."""
    return _strings(get_language())


@cache
def _strings(_language: str | None) -> Mapping[str, str]:
    """The language is the one in force, and there are two: a page has a hundred sentences, the same for everybody.
    (A development server that compiles a catalog anew says the old ones until it is started again.)"""
    return {
        **_states(),
        **_links(),
        **_panes(),
        **_replay(),
        **_due(),
        **{f"word.{state}": say(text) for state, text in STATES.items()},
        **{f"end.{end}": say(text) for end, text in ENDS.items()},
        **{f"why.{why}": say(text) for why, text in WHY.items()},
    }


def _states() -> dict[str, str]:
    return {
        "state.queued": _(
            "In the queue: place %(place)s, about %(low)s to %(high)s s. You may leave this page."
        ),
        "state.queued_unknown": _("In the queue: place %(place)s, wait not known. You may leave this page."),
        "state.queued_noplace": _("In the queue. You may leave this page."),
        "state.practice": _(
            "In the practice line: place %(place)s. Graded attempts go first; if no more come, about %(low)s to"
            " %(high)s s. You may leave this page."
        ),
        "state.practice_unknown": _(
            "In the practice line, behind all graded attempts. You may leave this page."
        ),
        "state.partner_awaited": _(
            "Locked. It waits for your partner's answers until %(time)s; then it runs without them."
        ),
        "state.partner_shared": _(
            "Locked. Your partner's run is measured for you both; your result appears here when it has ended."
        ),
        "state.returned": _(
            "Your run was interrupted and is back at the head of the queue. No attempt was used."
        ),
        "state.back_ahead": _("Another run was interrupted and is back before yours."),
        "state.starting": _("Starting: the server is yours, no token yet."),
        "state.sent": _("Sent. The server has not said yet that it reads."),
        "state.reading": _("Reading the prompt: %(processed)s of %(total)s tokens."),
        "state.streaming": _("Tokens are arriving."),
        "state.stalled": _("No token for %(seconds)s s. The run goes on."),
        "state.between": _("Between two requests."),
        "state.stopping": _("Stopping: what has arrived is being kept."),
        "state.grading": _("The run has ended. The result is being fetched."),
        "state.unfetched": _("The run has ended, but its result could not be fetched. Reload the page."),
        "announce.first_token": _("First token after %(ms)s ms."),
        "announce.finished": _("Finished. The result is on the page."),
        "announce.open": _("This round is recorded. The next round is open."),
    }


def _links() -> dict[str, str]:
    return {
        "link.connecting": _("Connecting"),
        "link.live": _("Live"),
        "link.reconnecting": _("Reconnecting"),
        "link.polling": _("Updating every 2 s"),
        "link.off": _("Not live"),
        "link.paused": _("Live updates are paused; last news at %(time)s. Reconnecting."),
        "link.by_polling": _("The live connection does not come up; the page asks every 2 seconds instead."),
        "link.4401": _(
            "Your session has ended. Log in again in a new tab, then reload; what you typed stays here."
        ),
        "link.4403": _("You no longer have access to this course, so live updates have stopped."),
        "link.4404": _("This attempt cannot be followed any more. Reload the page."),
    }


def _replay() -> dict[str, str]:
    return {
        "replay.play": _("Play"),
        "replay.pause": _("Pause"),
        "replay.place": _("Frame %(count)s of %(all)s, %(chars)s characters."),
        "replay.failed": _("This stream could not be fetched. Reload the page."),
    }


def _due() -> dict[str, str]:
    return {
        "due.yours": _("(%(time)s by your clock)"),
        "due.days": _("%(days)s d %(hours)s h left"),
        "due.hours": _("%(hours)s h %(minutes)s min left"),
        "due.minutes": _("%(minutes)s min left"),
        "due.seconds": _("%(minutes)s min %(seconds)s s left"),
        "due.passed": _("The due time has passed. Reload the page to see what running now costs."),
        "due.last_minute": _("One minute until this step is due."),
        "due.spoken": _("%(minutes)s minutes until this step is due."),
    }


def _panes() -> dict[str, str]:
    return {
        "pane.gap": _("Some live tokens are missing. The full recording will be shown at the end."),
        "pane.repeat": _("This is run %(run)s: the one before gave nothing to grade."),
        "pane.prompt": _("%(n)s prompt tokens"),
        "pane.figures": _(FIGURES),
        "time.axis": _("ms since sent"),
        "time.headers": _("headers"),
        "time.first": _("first token"),
        "time.sentence": _("first sentence"),
        "time.cut": _("cut"),
        "time.idle": _("slot idle"),
        "time.reading": _("until the first token"),
        "time.writing": _("writing"),
        "time.alt": _("Timeline of the requests; the same figures are in the table."),
        "order.up": _("Up"),
        "order.down": _("Down"),
        "form.busy": _("Sent. Please wait."),
    }
