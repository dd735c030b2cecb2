"""A server's key cannot be read out of the database (DESIGN 8: keys are write-only)."""

from __future__ import annotations

import importlib

import pytest
from django.apps import apps
from django.db import connection
from pytest_django import Settings

from labs.models import Endpoint
from labs.models.sealed import MARK

pytestmark = pytest.mark.django_db
KEY = "sk-열쇠-0123"


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint.objects.create(name="a", base_url="http://127.0.0.1:1", api_key=KEY)


def stored(endpoint: Endpoint) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT api_key FROM labs_endpoint WHERE id = %s", [endpoint.pk])
        return str(cursor.fetchone()[0])


def read(endpoint: Endpoint) -> str:
    return Endpoint.objects.get(pk=endpoint.pk).api_key


def test_the_database_holds_no_readable_key(endpoint: Endpoint) -> None:
    assert stored(endpoint).startswith(MARK)
    assert "0123" not in stored(endpoint)
    assert read(endpoint) == KEY


def test_no_key_is_no_key(endpoint: Endpoint) -> None:
    endpoint.api_key = ""
    endpoint.save()
    assert stored(endpoint) == "" and read(endpoint) == ""


def test_the_secret_can_be_changed_while_the_old_one_is_named(endpoint: Endpoint, settings: Settings) -> None:
    old = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "n" * 50, [old]
    assert read(endpoint) == KEY
    Endpoint.objects.get(pk=endpoint.pk).save()
    settings.SECRET_KEY_FALLBACKS = []
    assert read(endpoint) == KEY


def test_a_key_of_a_forgotten_secret_is_empty_and_said(
    endpoint: Endpoint, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.SECRET_KEY = "n" * 50
    assert read(endpoint) == ""
    assert "Enter it again" in caplog.text


def test_keys_from_before_are_sealed_by_the_migration(endpoint: Endpoint) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE labs_endpoint SET api_key = %s WHERE id = %s", [KEY, endpoint.pk])
    assert read(endpoint) == KEY
    importlib.import_module("labs.migrations.0018_sealed_keys").seal_all(apps, None)
    assert stored(endpoint).startswith(MARK) and read(endpoint) == KEY
