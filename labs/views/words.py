"""Words of the page: stored sentences in the reader's language, figures with their units, names of states."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext

from labs.grading.checks import Verdict
from labs.models import Attempt, Run, State
from labs.names import full_name
from labs.text import N_, Text

NBSP = "\u00a0"
NONE = "–"
# A figure and its unit, or its counting word in Korean: never broken apart, and in groups of three digits.
_FIGURE = re.compile(
    r"(?<![\w.,:/])(?<![0-9]-)([0-9]{1,12})(\.[0-9]+)?"
    r"(?: (?=(?:ms|s|MiB|GiB)(?![A-Za-z]))|(?= (?:tokens?|more)\b| 토큰|개))"
)

STATES: Mapping[str, Text] = {
    State.OPEN: N_("Waiting for you"),
    State.QUEUED: N_("In the queue"),
    State.RUNNING: N_("Running"),
    State.GRADED: N_("Graded"),
    State.CANCELLED: N_("Stopped"),
    State.ERRORED: N_("Ended by a fault"),
}

PRACTISED = N_("Practice ended")

# As an instructor reads them.
THEIR_STATES: Mapping[str, Text] = {**STATES, State.OPEN: N_("Waiting for the student")}

VERDICTS: Mapping[str, Text] = {
    Verdict.PASS: N_("Pass"),
    Verdict.FAIL: N_("Fail"),
    Verdict.INCONCLUSIVE: N_("Inconclusive"),
}

OUTCOMES: Mapping[str, Text] = {
    Run.Outcome.NONE: N_("under way"),
    Run.Outcome.RECORDED: N_("recorded"),
    Run.Outcome.DISTURBED: N_("disturbed"),
    Run.Outcome.INCONCLUSIVE: N_("inconclusive, repeated"),
    Run.Outcome.CANCELLED: N_("stopped"),
    Run.Outcome.LOST: N_("lost: the worker went away"),
    Run.Outcome.ERRORED: N_("ended by a fault"),
    Run.Outcome.NOT_IDLE: N_("not begun: the server was still busy"),
}

TAKEN_BACK = N_("taken back by an admin")

ENDS: Mapping[str, Text] = {
    "done": N_("read to its end"),
    "cut": N_("cut by us"),
    "held": N_("held, then shut"),
    "first_token_timeout": N_("no first token in time"),
    "idle_timeout": N_("fell silent"),
    "time_limit": N_("over the time limit"),
    "truncated": N_("broke off"),
    "error": N_("error from the server"),
    "rejected": N_("refused by the server"),
}


def state_of(attempt: Attempt) -> Text:
    """Practice is judged like an attempt, and never graded."""
    return PRACTISED if attempt.practice and attempt.state == State.GRADED else STATES[attempt.state]


def their_state_of(attempt: Attempt) -> Text:
    return THEIR_STATES[State.OPEN] if attempt.state == State.OPEN else state_of(attempt)


def say(text: Text | Mapping[str, Any] | str | None) -> str:
    """A stored sentence in the reader's language. A plain string is translated as it stands."""
    if text is None or text == "":
        return ""
    if isinstance(text, str):
        return gettext(text)
    if not isinstance(text, Text):
        text = Text.from_json(text)
    if not text.msgid:
        return ""
    said = gettext(text.msgid)
    if not text.params:
        return said
    try:
        return _FIGURE.sub(_whole, said % text.params)
    except (KeyError, TypeError, ValueError):
        # A verdict stored by older code may lack a place that today's sentence has.
        return text.msgid


def _whole(found: re.Match[str]) -> str:
    return f"{int(found[1]):,}{found[2] or ''}{NBSP if found[0].endswith(' ') else ''}"


def grouped(value: float) -> str:
    """'1,013.6': in groups of three digits."""
    return f"{value:,}"


def is_figure(text: str) -> bool:
    """A number, with its unit where it has one, or the dash that stands for none."""
    return text == NONE or bool(re.fullmatch(r"[-−]?[\d.,]+(%|[\s\u00a0](ms|s))?", text))


def ms(value_ms: float | None) -> str:
    """'23.4 ms' below 100, '1,203 ms' above: more digits would claim more than the clock knows."""
    if value_ms is None:
        return NONE
    return f"{value_ms:,.1f}{NBSP}ms" if abs(value_ms) < 100 else f"{value_ms:,.0f}{NBSP}ms"


def us(value_us: float | None) -> str:
    return NONE if value_us is None else ms(value_us / 1000)


def seconds(value_s: float | None) -> str:
    return NONE if value_s is None else f"{value_s:,.0f}{NBSP}s"


def seconds_short(value_ms: float | None) -> str:
    """Milliseconds as seconds with one decimal: '3.3 s'."""
    return (
        NONE if value_ms is None else gettext("%(seconds)s\u00a0s") % {"seconds": f"{value_ms / 1000:,.1f}"}
    )


def age(seconds: float) -> str:
    """'40 s', '12 min', '3 h 05 min', '2 d 3 h': as much as one needs to know how long something has been so."""
    minutes, hours, days = seconds / 60, seconds / 3600, seconds / 86400
    if minutes < 2:
        return gettext("%(s)s s") % {"s": round(seconds)}
    if hours < 1:
        return gettext("%(min)s min") % {"min": int(minutes)}
    if days < 1:
        return gettext("%(h)s h %(min)s min") % {"h": int(hours), "min": f"{int(minutes) % 60:02}"}
    return gettext("%(d)s d %(h)s h") % {"d": int(days), "h": int(hours) % 24}


def person(user: User) -> str:
    """'김민준', 'Ada Lovelace', or the login where no name is known."""
    return full_name(user) or user.get_username()
