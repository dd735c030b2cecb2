"""docs/settings.md lists every variable that is read, with its default, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.scripts.running import ROOT

READ = re.compile(r"""(?:\benv\.\w+|environ(?:\.get)?)[(\[]\s*"([A-Z_]+)"(?:,\s*([\d.]+)\))?""")
NAME = re.compile(r"\b(LABHUB_[A-Z_]+)\b")
ROW = re.compile(r"^\| `([A-Z_]+)` \| `?([^|`]+)", re.MULTILINE)
SET_FOR_CHILDREN = {"DJANGO_SETTINGS_MODULE", "SECRET_KEY_FILE"}


def documented() -> dict[str, str]:
    return {
        name: default.strip() for name, default in ROW.findall((ROOT / "docs" / "settings.md").read_text())
    }


def sources() -> Iterator[Path]:
    for folder in ("labhub_voice", "labs", "scripts"):
        yield from (ROOT / folder).rglob("*.py")


def test_every_variable_that_is_read_has_its_row() -> None:
    read = {name for path in sources() for name, _ in READ.findall(path.read_text())}
    assert read - SET_FOR_CHILDREN - set(documented()) == set()


def test_the_numbers_are_the_code_s_own() -> None:
    settings = (ROOT / "labhub_voice" / "settings.py").read_text()
    times = re.findall(r'env\.number\("(\w+)", ([^)]+)\)', settings)
    assert len(times) > 10
    for name, default in times:
        product = 1.0
        for factor in default.split("*"):
            product *= float(factor)
        assert float(documented()[name]) == product, name


def test_no_row_is_left_over() -> None:
    names = {name for path in sources() for name in NAME.findall(path.read_text())}
    programs = [path for path in (ROOT / "scripts").iterdir() if path.is_file()]
    for path in [*programs, ROOT / "docker-compose.yml"]:
        names |= set(NAME.findall(path.read_text()))
    assert {name for name in documented() if name.startswith("LABHUB_")} - names == set()
