"""Filters of the lab's pages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django import template
from django.contrib.auth.models import User
from django.utils.html import format_html
from django.utils.safestring import SafeString

from labs.live.status import Status
from labs.models import Attempt, Endpoint
from labs.text import Text
from labs.views import waits, words
from labs.views.ops.words import why_words

register = template.Library()


@register.filter
def say(value: Text | Mapping[str, Any] | str | None) -> str:
    """A stored sentence in the reader's language."""
    return words.say(value)


@register.filter
def person(user: User) -> str:
    """A person's name as it is written in their own script, or their login where no name is known."""
    return words.person(user)


@register.filter
def state_word(state: str) -> str:
    return words.say(words.STATES[state])


@register.filter
def state_of(attempt: Attempt) -> str:
    return words.say(words.state_of(attempt))


@register.filter
def us(value: float | None) -> SafeString:
    """Microseconds as milliseconds with their unit, never broken across lines."""
    return format_html('<span class="num">{}</span>', words.us(value))


@register.filter
def ms(value: float | None) -> SafeString:
    return format_html('<span class="num">{}</span>', words.ms(value))


@register.filter
def age(seconds: float) -> str:
    """How long something has been so."""
    return words.age(seconds)


@register.filter
def server_why(endpoint: Endpoint) -> str:
    """Why a model server is in the state it is in, where there is more to say."""
    return words.say(why_words(endpoint))


@register.filter
def num(value: object) -> SafeString:
    return format_html('<span class="num">{}</span>', words.NONE if value is None else value)


@register.filter
def their_state(attempt: Attempt) -> str:
    """For an instructor, whom an open round does not wait for."""
    return words.say(words.their_state_of(attempt))


@register.filter
def grouped(value: float | None) -> str:
    return words.NONE if value is None else words.grouped(value)


@register.filter
def is_figure(text: object) -> bool:
    """Whether a table's cell holds a number: those stand at the right."""
    return words.is_figure(str(text))


@register.filter
def why_waits(status: Status | None) -> str:
    """What keeps a queued attempt waiting besides others; "" where nothing does."""
    return waits.why_waits(status)


@register.filter
def clock(value: datetime, zone: str = "UTC") -> str:
    """A moment of today in the course's zone, to the second: '14:03:20'."""
    return f"{value.astimezone(ZoneInfo(zone)):%H:%M:%S}"


@register.filter
def when(value: datetime | None, zone: str = "UTC") -> SafeString:
    """A moment in the course's zone, with the zone's name: '2026-11-30 23:59 KST'."""
    if value is None:
        return format_html('<span class="num">{}</span>', words.NONE)
    local = value.astimezone(ZoneInfo(zone))
    return format_html(
        '<time class="num" datetime="{}">{}</time>', local.isoformat(), local.strftime("%Y-%m-%d %H:%M %Z")
    )
