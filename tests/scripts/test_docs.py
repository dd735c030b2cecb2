"""docs/settings.md lists every variable that is read, with its default, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from labs.metrics.own import DRIVE, SWEEP, WEB
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


def programs() -> Iterator[Path]:
    """What is no Python: the shell's scripts, and what starts the processes elsewhere."""
    yield from (path for path in (ROOT / "scripts").iterdir() if path.is_file())
    yield ROOT / "docker-compose.yml"
    yield ROOT / "Dockerfile"
    yield from (ROOT / "deploy").rglob("*.yaml")


def test_what_the_shell_and_compose_read_has_its_row_too() -> None:
    nginx = set(NAME.findall((ROOT / "deploy/nginx/labhub.conf.template").read_text()))  # it lists its own
    names = {name for path in programs() for name in NAME.findall(path.read_text())}
    assert len(names) > 10
    known = nginx | set(documented())
    assert {name for name in names if not {name, name.removesuffix("_FILE")} & known} == set()


def test_no_row_is_left_over() -> None:
    names = {name for path in [*sources(), *programs()] for name in NAME.findall(path.read_text())}
    assert {name for name in documented() if name.startswith("LABHUB_")} - names == set()


def test_every_figure_of_metrics_is_explained() -> None:
    own = [family.name for registry in (WEB, DRIVE, SWEEP) for family in registry.collect()]
    elsewhere = "\n".join(path.read_text() for path in (ROOT / "labs/metrics").glob("*.py"))
    named = {name.rstrip("_") for name in re.findall(r"labhub_[a-z_]+", elsewhere)} - {"labhub_voice"}
    told = (ROOT / "docs" / "operations.md").read_text()
    assert len(named) > 15
    assert {name for name in {*own, *named} if name not in told} == set()
    assert {
        name for name in re.findall(r"labhub_[a-z_]+", told) if not _is_counted(name, {*own, *named})
    } == set()


def _is_counted(name: str, names: set[str]) -> bool:
    """Prometheus adds endings of its own; the two ratios are named from an outcome, `_up` from what is reached."""
    made = {"labhub_disturbed_ratio", "labhub_inconclusive_ratio", "labhub_database_up", "labhub_redis_up"}
    return name in names | made or name.removesuffix("_total").removesuffix("_count") in names
