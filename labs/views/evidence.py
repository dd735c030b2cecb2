"""A check's evidence as tables: what was seen, the rule, the limit, the control."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from labs.text import N_, Text
from labs.views.evidence_words import NAMES, VALUES
from labs.views.words import NONE, is_figure, ms, say, us

SECTIONS: Mapping[str, Text] = {
    "saw": N_("Seen"),
    "rule": N_("Rule"),
    "limit": N_("Limit"),
    "control": N_("Control"),
}
OTHER = N_("More")


Words = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Name:
    """`text` in the reader's words, or, where there are none, the stored key: it is code then."""

    key: str
    text: str
    is_code: bool
    is_figure: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    name: Name
    cells: Sequence[str]

    @property
    def marked_cells(self) -> Sequence[tuple[str, bool]]:
        """Each with whether it is a figure: those stand at the right."""
        return [(cell, is_figure(cell)) for cell in self.cells]


@dataclass(frozen=True, slots=True)
class Table:
    """With `head` one column a figure and one row a request, else a name and its value a row."""

    caption: str
    head: Sequence[Name]
    rows: Sequence[Row]

    @property
    def is_sentence(self) -> bool:
        return all(not row.name.key for row in self.rows)


@dataclass(frozen=True, slots=True)
class _Reader:
    """`titles`: what the plan calls its requests, by key. `choices`: what a stored choice is called on its form."""

    titles: Words
    choices: Words

    def name(self, key: str) -> Name:
        last = key.rpartition(".")[2]
        words = self.titles.get(key) or say(NAMES.get(key) or NAMES.get(last))
        return Name(key, words or key, is_code=not words)

    def section(self, caption: str, value: Any) -> Iterator[Table]:
        """A table of the requests where the section holds some, and one of all else."""
        if not isinstance(value, Mapping) or "msgid" in value:
            yield Table(caption, (), list(self.rows("", value)))
            return
        requests = {
            name: inner
            for name, inner in value.items()
            if isinstance(inner, Mapping) and "msgid" not in inner
        }
        if len(requests) > 1:
            columns = dict.fromkeys(name for figures in requests.values() for name in figures)
            lines = [
                Row(self.name(key), [self.shown(n, inner.get(n)) for n in columns])
                for key, inner in requests.items()
            ]
            yield Table(caption, [self._column(n, i, lines) for i, n in enumerate(columns)], lines)
            value = {name: inner for name, inner in value.items() if name not in requests}
            caption = ""
        yield Table(caption, (), list(self.rows("", value)))

    def _column(self, key: str, place: int, lines: Sequence[Row]) -> Name:
        name = self.name(key)
        figures = all(is_figure(line.cells[place]) for line in lines)
        return Name(name.key, name.text, name.is_code, is_figure=figures)

    def rows(self, key: str, value: Any) -> Iterator[Row]:
        if isinstance(value, Mapping) and "msgid" in value:
            yield Row(self.name(key), [say(value)])
        elif isinstance(value, Mapping):
            for inner_key, inner in value.items():
                yield from self.rows(f"{key}.{inner_key}" if key else str(inner_key), inner)
        else:
            yield Row(self.name(key), [self.shown(key, value)])

    def shown(self, key: str, value: Any) -> str:
        """One stored value with the unit that its name carries."""
        if value is None or value == "":
            return NONE
        if isinstance(value, bool):
            return _("yes") if value else _("no")
        if isinstance(value, int | float):
            return _with_unit(key, value)
        if isinstance(value, list | tuple):
            return ", ".join(self.shown(key, inner) for inner in value) or NONE
        if key == "":
            return say(value)
        known = VALUES.get(key, {}).get(str(value))
        return (
            say(known) if known else self.choices.get(str(value), str(value)) if key in CHOSEN else str(value)
        )


# What holds a choice of the student's, by the form's own key.
CHOSEN = frozenset({"said", "cut", "order"})


def tables(
    evidence: Mapping[str, Any], titles: Words | None = None, choices: Words | None = None
) -> list[Table]:
    reader = _Reader(titles or {}, choices or {})
    found: list[Table] = []
    for key, title in SECTIONS.items():
        if key in evidence:
            found += reader.section(say(title), evidence[key])
    rest = {key: value for key, value in evidence.items() if key not in SECTIONS}
    return [table for table in [*found, *reader.section(say(OTHER), rest)] if table.rows]


def _with_unit(key: str, value: float) -> str:
    parts = key.split(".")
    if any(part == "us" or part.endswith("_us") for part in parts):
        return us(value)
    if any(part == "ms" or part.endswith("_ms") for part in parts):
        return ms(value)
    if parts[-1] == "share":
        return f"{value * 100:,.4g}%"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
