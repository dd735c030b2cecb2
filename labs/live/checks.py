"""Start-up checks of the live path: what would fail in silence fails at the start."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from labs.start import START


@register(START)
def no_channel_layer(**_: Any) -> list[CheckMessage]:
    """Measured: a layer loses 18 % of a class' tokens (DESIGN 4); an in-memory one loses a worker's altogether."""
    if not getattr(settings, "CHANNEL_LAYERS", None):
        return []
    hint = "Remove the setting; live events go through Redis streams (labs.live)."
    return [Error("CHANNEL_LAYERS is set, but nothing here uses a channel layer.", hint=hint, id="labs.E001")]


@register(START)
def sessions_in_the_database(**_: Any) -> list[CheckMessage]:
    """The hub reads the sessions of all its sockets in one query."""
    if settings.SESSION_ENGINE == "django.contrib.sessions.backends.db":
        return []
    hint = "Use django.contrib.sessions.backends.db, or teach labs.live.rights the other engine."
    return [Error("Sockets cannot see whether their session is still valid.", hint=hint, id="labs.E002")]
