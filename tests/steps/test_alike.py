"""Which sources of `sse.py` count as alike: what a person would call the same program with other names."""

from __future__ import annotations

from pathlib import Path

import pytest

from labs.steps.sse_kit.alike import shape
from labs.steps.sse_kit.source import source
from tests.steps.sse_sources import FAULTS, core

ONE = '''
import json

def helper(event, deep=True):
    """Finds the text."""
    return event.get("content")

def parse(lines, now):
    first = None
    for line in lines:  # each of them
        if line.startswith("data:"):
            first = first or helper(json.loads(line[5:]), deep=True)
    return {"first_token": first}
'''
SAME_BUT_FOR_NAMES = """
import json
def dig(obj: dict, far: bool = True) -> str:
    return obj.get("content")


def parse(rows, clock):
    # mine
    found = None
    for row in rows:
        if row.startswith("data:"):
            found = (found or dig(json.loads(row[5:]), far=True))
    return {"first_token": found}
"""


def test_names_comments_hints_and_layout_make_no_difference() -> None:
    assert shape(ONE)
    assert shape(ONE) == shape(SAME_BUT_FOR_NAMES)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"content"', '"text"'),
        (".get", ".pop"),
        ("json.loads", "json.dumps"),
        ("first or helper", "first and helper"),
        ("[5:]", "[6:]"),
        ("import json", "import json, re"),
        ("def parse(lines, now):", "def parse(now, lines):"),
    ],
)
def test_what_the_code_does_makes_one(old: str, new: str) -> None:
    assert old in ONE
    assert shape(ONE.replace(old, new)) != shape(ONE)


def test_the_known_faults_are_all_different() -> None:
    shapes = {shape(text) for text, _checks in FAULTS.values()} | {shape(core()), shape(source("solution"))}
    assert len(shapes) == len(FAULTS) + 2
    assert "" not in shapes


@pytest.mark.parametrize(
    "text", ["def parse(", "\0", "x = 1 +\n", "-" * 19_000 + "1", "(" * 9_000, "\ud800", "if x:\npass"]
)
def test_what_is_no_python_has_no_shape(text: str) -> None:
    assert shape(text) == ""


def test_nothing_is_executed(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    assert shape(f"open({str(mark)!r}, 'w')\nraise SystemExit\n")
    assert not mark.exists()
