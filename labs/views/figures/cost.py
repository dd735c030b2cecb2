"""TTFT against prompt tokens, with what the student predicted and the client's own two figures beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _

from labs.measure.cost import Size, line_of, sizes
from labs.measure.recording import Recording
from labs.measure.stats import Line
from labs.text import Json
from labs.views.figures.plot import Plot
from labs.views.words import NONE, ms

# The client's text: 35 tokens 127 ms, 258 tokens 801 ms (two cores of their own machine).
CLIENT = ((35, 127.0), (258, 801.0))


def cost_plot(
    rounds: Sequence[Sequence[Recording]], said_ms: Sequence[tuple[Recording, float]]
) -> Plot | None:
    """`rounds` are the asks of each accepted run. `said_ms`: predicted TTFTs, each with the ask it was for."""
    every = sizes(ask for asks in rounds for ask in asks)
    if not every:
        return None
    line = line_of(sizes(rounds[0]))
    said = [(ask.figures.prompt_n or ask.n, told) for ask, told in said_ms]
    return Plot(
        kind="cost",
        title=_("TTFT against prompt tokens"),
        sentence=_sentence(every, line),
        data=_data(every, line, said),
        axes={"x": _("prompt tokens computed (prompt_n)"), "y": _("TTFT, ms")},
        head=[
            "prompt_n",
            _("each run"),
            _("fastest"),
            _("median"),
            _("your prediction"),
            _("line of your first round"),
        ],
        rows=[_row(size, line, dict(said)) for size in every],
        legend=[
            ("run", _("one run")),
            ("fastest", _("fastest")),
            ("median", _("median")),
            ("said", _("your prediction")),
            ("line", _("line of your first round")),
            ("client", _("LabHub's server")),
        ],
        note=_("LabHub's figures: 35 tokens 127 ms, 258 tokens 801 ms, on their machine."),
    )


def _sentence(every: Sequence[Size], line: Line | None) -> str:
    count, most = sum(len(size.times_ms) for size in every), every[-1]
    places: Mapping[str, str | int] = {"count": count, "n": most.n, "fastest": ms(most.fastest_ms)}
    if line is None:
        return _("Measured runs: %(count)s. The fastest with %(n)s prompt tokens took %(fastest)s.") % places
    return _(
        "Measured runs: %(count)s. By your first round, TTFT grows by %(slope)s ms a prompt token; the fastest run "
        "with %(n)s tokens took %(fastest)s."
    ) % {**places, "slope": f"{line.slope:.2f}"}


def _data(every: Sequence[Size], line: Line | None, said: Sequence[tuple[int, float]]) -> Json:
    ends = (0, every[-1].n) if line is not None else ()
    return {
        "points": [_point(size.n, told) for size in every for told in size.times_ms],
        "minima": [_point(size.n, size.fastest_ms) for size in every],
        "medians": [_point(size.n, size.median_ms) for size in every if len(size.times_ms) > 1],
        "line": [_point(n, line.at(n)) for n in ends if line is not None],
        "said": [_point(n, told) for n, told in said],
        "client": [_point(n, told) for n, told in CLIENT],
    }


def _point(n: int, value_ms: float) -> Json:
    return {"n": n, "ms": round(value_ms, 1)}


def _row(size: Size, line: Line | None, said: Mapping[int, float]) -> list[str]:
    return [
        str(size.n),
        ", ".join(ms(told) for told in size.times_ms),
        ms(size.fastest_ms),
        ms(size.median_ms),
        ms(said.get(size.n)),
        NONE if line is None else ms(line.at(size.n)),
    ]
