"""The slots over time: which request was where, when we closed it, and when the slot was seen free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _

from labs.measure.recording import Recording
from labs.measure.slots import Stay, looks, stays
from labs.views.figures.plot import Plot
from labs.views.words import NONE, us


def slots_plot(number: int, recordings: Sequence[Recording], titles: Mapping[str, str]) -> Plot | None:
    """Of the run of round `number`; `titles` by key."""
    found = stays(recordings)
    if not found:
        return None
    seen = looks(recordings)
    slots = sorted({stay.slot for stay in found} | {look.slot for look in seen})
    return Plot(
        kind="slots",
        title=_("The slots over time, round %(number)s") % {"number": number},
        sentence=_sentence(found, titles),
        data={
            "slots": [_name(slot) for slot in slots],
            "lanes": [
                {
                    "slot": _name(stay.slot),
                    "from": _ms(stay.begun_us),
                    "to": _ms(stay.left_us),
                    "closed": None if stay.closed_us is None else _ms(stay.closed_us),
                    "number": str(place),
                }
                for place, stay in enumerate(found, start=1)
            ],
            "looks": [{"slot": _name(look.slot), "at": _ms(look.at_us), "busy": look.busy} for look in seen],
        },
        axes={"x": _("ms since the run began")},
        head=[
            _("No."),
            _("Request"),
            _("slot"),
            _("begun"),
            _("closed by us"),
            _("seen free or ended"),
            _("free after our close"),
        ],
        rows=[_row(place, stay, titles) for place, stay in enumerate(found, start=1)],
        legend=[
            ("busy", _("working on a request (number as in the table)")),
            ("closed", _("closed by us")),
            ("look-busy", _("looked: busy")),
            ("look-free", _("looked: free")),
        ],
    )


def _sentence(found: Sequence[Stay], titles: Mapping[str, str]) -> str:
    closed = [stay for stay in found if stay.closed_us is not None]
    if not closed:
        return _("%(count)s requests; none was closed before its end.") % {"count": len(found)}
    told = "; ".join(f"{titles.get(stay.key, stay.key)}: {_freed(stay)}" for stay in closed)
    return _("From our close until the slot was seen free: %(told)s.") % {"told": told}


def _row(place: int, stay: Stay, titles: Mapping[str, str]) -> list[str]:
    return [
        str(place),
        titles.get(stay.key, stay.key),
        str(stay.slot),
        us(stay.begun_us),
        us(stay.closed_us),
        us(stay.left_us),
        NONE if stay.closed_us is None else _freed(stay),
    ]


def _freed(stay: Stay) -> str:
    return us(stay.left_us - (stay.closed_us or 0)) if stay.seen_free else _("not seen free")


def _name(slot: int) -> str:
    return _("slot %(number)s") % {"number": slot}


def _ms(at_us: int) -> float:
    return round(at_us / 1000, 1)
