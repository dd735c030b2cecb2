"""docs/acceptance.md has every line once, and what it names is there. Nothing is run here."""

from __future__ import annotations

import re

import pytest

from tests.test_cases import ROOT, TEST, named_in

ROW = re.compile(r"^\| ([ISA]\d+) \|(.+)\|(.+)\|(.+)\|$", re.MULTILINE)
NAMED = re.compile(r"`([^`]+)`")
LINES = [
    f"{group}{number}" for group, last in (("I", 15), ("S", 15), ("A", 10)) for number in range(1, last + 1)
]

rows = {row[0]: row[-1] for row in ROW.findall((ROOT / "docs" / "acceptance.md").read_text())}


def test_every_line_has_its_row() -> None:
    assert list(rows) == LINES


@pytest.mark.parametrize("line", LINES)
def test_what_proves_a_line_exists(line: str) -> None:
    tests = TEST.findall(rows[line])
    assert tests, "a script alone proves nothing in CI"
    for path, name in tests:
        assert name in named_in(ROOT / path), f"{path}::{name}"
    scripts = [one for one in NAMED.findall(rows[line]) if "::" not in one]
    assert len(scripts) + len(tests) == len(NAMED.findall(rows[line])), "each is written as `path::name`"
    for script in scripts:
        assert (ROOT / script).is_file(), script
