"""A plot as the page holds it: a sentence with numbers, the numbers to draw, and the same in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labs.text import Json
from labs.views.words import is_figure


@dataclass(frozen=True, slots=True)
class Plot:
    """`kind` is a drawing of frontend/src/plots.js, which gets `data`. `legend`: (symbol, words)."""

    kind: str
    title: str
    sentence: str
    data: Json
    axes: Mapping[str, str]
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    legend: Sequence[tuple[str, str]] = ()
    note: str = ""

    @property
    def columns(self) -> Sequence[tuple[str, bool]]:
        """The table's heads, each with whether figures alone stand under it."""
        return [(name, all(is_figure(str(row[i])) for row in self.rows)) for i, name in enumerate(self.head)]

    @property
    def payload(self) -> Json:
        return {"data": self.data, "label": f"{self.title}. {self.sentence}", "axes": dict(self.axes)}
