"""docs/cases.md names its cases once each, and every test that it or the threat model names is there. None is run."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROW = re.compile(r"^\| \[([A-H]\d+)\]\((https://\S+)\) \|(.+)\|(.+)\|(.+)\|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
NUMBERS = {
    "A": (2, 3, 4, 5, 8, 10, 11),
    "B": (1, 2, 3, 4, 5, 6, 9),
    "C": (1, 2, 3, 4, 6),
    "D": (2, 3, 4, 5, 7, 9),
    "E": (1, 2, 3, 5, 6),
    "F": (1, 3, 4, 6),
    "G": (1, 2, 3, 5, 7, 8, 10),
    "H": (1, 2, 3, 7, 8, 9),
}
CASES = [f"{group}{number}" for group, numbers in NUMBERS.items() for number in numbers]

rows = {row[0]: row for row in ROW.findall((ROOT / "docs" / "cases.md").read_text())}


@cache
def named_in(path: Path) -> frozenset[str]:
    found = [
        node
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return frozenset(node.name for node in found if node.name.startswith("test_"))


def test_every_case_has_its_row() -> None:
    assert list(rows) == CASES


@pytest.mark.parametrize("case", CASES)
def test_the_tests_of_a_case_exist(case: str) -> None:
    named = TEST.findall(rows[case][-1])
    assert named
    assert rows[case][-1].count("::") == len(named), "each is written as `path::name`"
    for path, name in named:
        assert name in named_in(ROOT / path), f"{path}::{name}"


def test_the_tests_of_the_threat_model_exist() -> None:
    page = (ROOT / "docs" / "threat-model.md").read_text()
    named = TEST.findall(page)
    assert named and page.count("::") == len(named)
    assert not [f"{path}::{name}" for path, name in named if name not in named_in(ROOT / path)]
