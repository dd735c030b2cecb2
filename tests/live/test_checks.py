from __future__ import annotations

from django.core.checks import run_checks
from pytest_django import Settings


def found() -> set[str | None]:
    return {message.id for message in run_checks()}


def test_the_settings_as_they_are_pass() -> None:
    assert not found() & {"labs.E001", "labs.E002"}


def test_a_channel_layer_is_refused_at_the_start(settings: Settings) -> None:
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    assert "labs.E001" in found()


def test_sessions_outside_the_database_are_refused_at_the_start(settings: Settings) -> None:
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
    assert "labs.E002" in found()
