"""The catalogs are complete, and the check that says so can fail."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from babel.messages.catalog import Catalog

from scripts import catalogs


def test_nothing_is_missing_in_korean() -> None:
    assert catalogs.check() == []


def test_what_is_extracted() -> None:
    ids = {message.id if isinstance(message.id, str) else message.id[0] for message in catalogs.extracted()}
    assert "Skip to the content" in ids, "{% translate %}"
    assert "Run %(number)s" in ids, "{% blocktranslate with %}"
    assert "You stopped this run." in ids, "N_() outside Django code"
    assert "Pick a token." in ids, "gettext_lazy"
    assert len(ids) >= catalogs.LEAST_MESSAGES


def test_a_template_is_read_as_django_reads_it() -> None:
    source = b"""{% load i18n %}{% translate "one" %}{% blocktranslate count n=n %}{{ n }} a{% plural %}{{ n }} b
    {% endblocktranslate %}{% translate "two" context "three" %}"""
    found = [
        m for _line, _name, m, _c in catalogs.extract_template(io.BytesIO(source), catalogs.KEYWORDS, (), {})
    ]
    assert any("one" in str(message) for message in found)
    assert any("%(n)s b" in str(message) for message in found)
    assert any("three" in str(message) for message in found)


def _lose(catalog: Catalog) -> None:
    next(m for m in catalog if m.id).string = ""


def _other_place(catalog: Catalog) -> None:
    catalog["%(most)s points"].string = "%(least)s점"


def _unsure(catalog: Catalog) -> None:
    next(m for m in catalog if m.id).flags.add("fuzzy")


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [(_lose, "missing"), (_other_place, "other places"), (_unsure, "fuzzy")],
)
def test_a_spoilt_catalog_is_found_out(spoil: Callable[[Catalog], None], problem: str) -> None:
    catalog = catalogs.read("ko")
    spoil(catalog)
    assert [p for p in catalogs.problems(catalog, catalogs.extracted()) if p.startswith(problem)]
