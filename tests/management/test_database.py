"""DATABASE_URL as Django's settings."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from labhub_voice.database import database


def test_postgres_with_everything_quoted() -> None:
    found = database("postgresql://lab%40school:p%2Fw@db:5433/voice?sslmode=require")
    assert (found["USER"], found["PASSWORD"], found["HOST"]) == ("lab@school", "p/w", "db")
    assert (found["PORT"], found["NAME"], found["OPTIONS"]["sslmode"]) == (5433, "voice", "require")


def test_what_was_asked_a_few_times_is_planned_no_more() -> None:
    """Django by itself writes the values into each question, and Postgres plans every one of them anew."""
    options = database("postgresql://db/voice")["OPTIONS"]
    assert options["server_side_binding"] and options["prepare_threshold"]
    assert not {"server_side_binding", "prepare_threshold"} & set(database("sqlite:////x")["OPTIONS"])


@pytest.mark.parametrize("url", ["postgresql://db/voice", "sqlite:////tmp/voice.sqlite3"])
def test_no_connection_is_kept_for_a_thread_that_ends_with_its_request(url: str) -> None:
    assert database(url).get("CONN_MAX_AGE", 0) == 0


def test_a_pool_is_for_postgres_and_is_bounded() -> None:
    found = database("postgresql://db/voice", pool_size=12)
    assert (found["OPTIONS"]["pool"]["max_size"], found["CONN_HEALTH_CHECKS"]) == (12, True)
    assert "pool" not in database("postgresql://db/voice")["OPTIONS"]
    assert "pool" not in database("sqlite:////tmp/voice.sqlite3", pool_size=12)["OPTIONS"]


def test_another_scheme_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="mysql"):
        database("mysql://db/voice")
