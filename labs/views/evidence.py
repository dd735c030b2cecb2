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
    cells: Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    """With `head` one column a figure and one row a request, else a name and its value a row."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Row]

    @property
    def is_sentence(self) -> bool:
        return all(not row.name for row in self.rows)


def tables(evidence: Mapping[str, Any]) -> list[Table]:
    found: list[Table] = []
    for key, title in SECTIONS.items():
        if key in evidence:
            found += _section(say(title), evidence[key])
    rest = {key: value for key, value in evidence.items() if key not in SECTIONS}
    return [table for table in [*found, *_section(say(OTHER), rest)] if table.rows]


def _section(caption: str, value: Any) -> Iterator[Table]:
    """A table of the requests where the section holds some, and one of all else."""
    if not isinstance(value, Mapping) or "msgid" in value:
        yield Table(caption, (), list(_rows("", value)))
        return
    requests = {
        name: inner for name, inner in value.items() if isinstance(inner, Mapping) and "msgid" not in inner
    }
    if len(requests) > 1:
        head = list(dict.fromkeys(name for figures in requests.values() for name in figures))
        lines = [Row(key, [shown(n, inner.get(n)) for n in head]) for key, inner in requests.items()]
        yield Table(caption, head, lines)
        value = {name: inner for name, inner in value.items() if name not in requests}
        caption = ""
    yield Table(caption, (), list(_rows("", value)))


def _rows(name: str, value: Any) -> Iterator[Row]:
    if isinstance(value, Mapping) and "msgid" in value:
        yield Row(name, [say(value)])
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _rows(f"{name}.{key}" if name else str(key), inner)
    else:
        yield Row(name, [shown(name, value)])


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
