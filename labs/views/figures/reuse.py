"""Cold and warm: the TTFT of each request beside what of its prompt was computed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from django.utils.translation import gettext as _

from labs.measure.recording import Recording
from labs.views.figures.plot import Plot
from labs.views.words import ms, us

Asked = tuple[str, Recording]


def reuse_plot(rounds: Sequence[tuple[int, Sequence[Asked]]]) -> Plot | None:
    """`rounds` are (number, asks with their titles) of the accepted runs."""
    asks = [
        (number, title, ask)
        for number, row in rounds
        for title, ask in row
        if ask.figures.ttft_us is not None and ask.figures.cache_n is not None
    ]
    if not asks:
        return None
    return Plot(
        kind="reuse",
        title=_("Cold and warm"),
        sentence=_sentence([ask for _number, _title, ask in asks]),
        data={
            "bars": [
                {
                    "key": f"{number}.{ask.key}",
                    "title": f"{number}. {title}",
                    "ms": round((ask.figures.ttft_us or 0) / 1000, 1),
                    "warm": is_warm(ask),
                    "label": f"{us(ask.figures.ttft_us)} · prompt_n {ask.figures.prompt_n}",
                }
                for number, title, ask in asks
            ]
        },
        axes={"x": _("TTFT, ms")},
        head=[_("Round"), _("Request"), _("from the cache"), "TTFT", "cache_n", "prompt_n", "N"],
        rows=[
            [
                str(number),
                title,
                _("warm") if is_warm(ask) else _("cold"),
                us(ask.figures.ttft_us),
                str(ask.figures.cache_n),
                str(ask.figures.prompt_n),
                str(ask.n),
            ]
            for number, title, ask in asks
        ],
        legend=[("cold", _("cold: more than half of it was computed")), ("warm", _("warm: from the cache"))],
    )


def is_warm(ask: Recording) -> bool:
    """At least half of its prompt came from the cache."""
    return (ask.figures.cache_n or 0) * 2 >= ask.n > 0


def _sentence(asks: Sequence[Recording]) -> str:
    """The first warm request and the cold one before it: their prompts are the closest to each other."""
    for cold, warm in pairwise(asks):
        if is_warm(warm) and not is_warm(cold):
            cold_us, warm_us = cold.figures.ttft_us or 0, warm.figures.ttft_us or 0
            return _(
                "Cold, %(cold_n)s prompt tokens were computed and the first token came after %(cold)s; warm, "
                "%(warm_n)s and after %(warm)s."
            ) % {
                "cold_n": cold.figures.prompt_n,
                "cold": us(cold_us),
                "warm_n": warm.figures.prompt_n,
                "warm": us(warm_us),
            }
    fastest_us = min(ask.figures.ttft_us or 0 for ask in asks)
    return _("No request was warm after a cold one; the fastest first token came after %(fastest)s.") % {
        "fastest": ms(fastest_us / 1000)
    }
