"""A check's evidence as tables: what was seen, the rule, the limit, the control."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from labs.text import N_, Text
from labs.views.words import NONE, ms, say, us

SECTIONS: Mapping[str, Text] = {
    "saw": N_("Seen"),
    "rule": N_("Rule"),
    "limit": N_("Limit"),
    "control": N_("Control"),
}
OTHER = N_("More")


@dataclass(frozen=True, slots=True)
class Row:
    """`name` is the stored key, shown as code because the recording uses the same word."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Table:
    caption: str
    rows: Sequence[Row]


def tables(evidence: Mapping[str, Any]) -> list[Table]:
    found = [
        Table(say(title), list(_rows("", evidence[key])))
        for key, title in SECTIONS.items()
        if key in evidence
    ]
    rest = {key: value for key, value in evidence.items() if key not in SECTIONS}
    if rest:
        found.append(Table(say(OTHER), list(_rows("", rest))))
    return [table for table in found if table.rows]


def _rows(name: str, value: Any) -> Iterator[Row]:
    if isinstance(value, Mapping) and "msgid" in value:
        yield Row(name, say(value))
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _rows(f"{name}.{key}" if name else str(key), inner)
    else:
        yield Row(name, shown(name, value))


def shown(name: str, value: Any) -> str:
    """One stored value with the unit that its name carries."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, int | float):
        if name.endswith("_us"):
            return us(value)
        if name.endswith("_ms"):
            return ms(value)
        return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(shown(name, inner) for inner in value) or NONE
    return say(value) if name == "" else str(value)
