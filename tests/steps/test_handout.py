"""Every fact, figure, warning and experiment of the client's handout has a home in both languages."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from labs.steps import all_steps
from labs.views.content import CONTENT

ROWS: list[dict[str, Any]] = tomllib.loads((CONTENT / "handout.toml").read_text(encoding="utf-8"))["row"]
LANGUAGES = ("ko", "en")
KINDS = {"fact", "figure", "warning", "experiment"}
# What the client measured; each stands in some section that a row names, in both languages.
FIGURES = ("127 ms", "801 ms", "24 ms", "8,192 MiB", "2 GiB")


def section(step: str, language: str, anchor: str) -> str:
    """The text under a named heading, up to the next one; '' where there is no such heading."""
    path = CONTENT / language / f"{step}.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    parts = re.split(r"^##+ .+\{#([a-z0-9-]+)\}$", text, flags=re.M)
    found = dict(zip(parts[1::2], parts[2::2], strict=True))
    return " ".join(found.get(anchor, "").split())


@pytest.mark.parametrize("row", ROWS, ids=[row["key"] for row in ROWS])
def test_a_row_has_both_anchors_and_both_say_it(row: dict[str, Any]) -> None:
    assert row["kind"] in KINDS
    assert row["step"] in all_steps()
    for language in LANGUAGES:
        text = section(row["step"], language, row[language])
        assert text, f"{language}/{row['step']}.md has no section #{row[language]}"
        assert [said for said in row["holds"] if said not in text] == []


def test_keys_are_unique_and_every_step_has_a_row_that_lets_one_do_it() -> None:
    keys = [row["key"] for row in ROWS]
    assert len(set(keys)) == len(keys)
    assert {row["step"] for row in ROWS if row["kind"] == "experiment"} == set(all_steps())


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_of_the_client_stands_in_a_named_section(figure: str) -> None:
    for language in LANGUAGES:
        assert any(figure in section(row["step"], language, row[language]) for row in ROWS)


def test_a_missing_anchor_and_a_missing_page_are_seen() -> None:
    assert section("cache-reuse", "ko", "slot")
    assert section("cache-reuse", "ko", "no-such-heading") == ""
    assert section("no-such-step", "ko", "slot") == ""
