"""Tables of a student's own figures, for the questions asked about them. They hold figures, never the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from labs.measure.recording import Recording, RunRecord
from labs.steps.base import Exhibit

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def in_ms(us: float | None) -> float:
    """Microseconds as milliseconds with one decimal; 0.0 for None."""
    return round((us or 0) / 1000, 1)


def moments(ask: Recording) -> Exhibit:
    """When what happened to an ask, on the run's clock: so every duration must be worked out."""
    seen, sent_us = ask.figures, ask.sent_at_us
    at_us = [
        (_("the request's last byte left"), 0),
        (_("the answer's headers arrived"), seen.headers_us),
        (_("the first role frame arrived"), seen.role_us),
        (_("the first visible text arrived"), seen.first_token_us),
        (_("the stream ended"), seen.end_us),
    ]
    return Exhibit(
        _("Your second request, on the run's clock"),
        "table",
        head=(_("what"), _("at, ms")),
        rows=[(what, None if us is None else in_ms(sent_us + us)) for what, us in at_us],
        note=_("The server sends the headers when the slot begins to work on the request."),
    )


def timings(ask: Recording) -> Exhibit:
    names = ("cache_n", "prompt_n", "prompt_ms", "predicted_n", "predicted_ms")
    shown = {name: getattr(ask.figures, name) for name in names}
    return Exhibit(_("What the server says of it (timings)"), "code", json.dumps(shown, indent=1))


def cache_counters(
    run: RunRecord,
    names: Mapping[str, StrOrPromise],
    title: StrOrPromise = "",
) -> Exhibit:
    """`names` maps an ask's key to what to call it."""
    return Exhibit(
        title or _("What your first round measured"),
        "table",
        head=(_("request"), _("prompt tokens (N)"), "cache_n", "prompt_n"),
        rows=[
            (name, run[key].n, run[key].figures.cache_n, run[key].figures.prompt_n)
            for key, name in names.items()
        ],
    )


def sizes(asks: Sequence[tuple[int, Recording]]) -> Exhibit:
    """Each ask with its number of documents."""
    return Exhibit(
        _("What you measured so far"),
        "table",
        head=(_("documents"), "prompt_n", _("TTFT, ms"), "prompt_ms"),
        rows=[
            (count, seen.prompt_n, None if seen.ttft_us is None else in_ms(seen.ttft_us), seen.prompt_ms)
            for count, seen in ((count, ask.figures) for count, ask in asks)
        ],
        note=_("All of them were cold: the cache was off."),
    )


def two_servers(on: RunRecord, off: RunRecord) -> Exhibit:
    """The stored run of a server that also keeps prompts in the host's memory, beside one that does not."""
    names = {
        "a": _("prompt A, for the first time"),
        "b": _("prompt B"),
        "c": _("prompt C"),
        "a-again": _("prompt A again, after every slot was emptied"),
    }
    return Exhibit(
        _("A stored run of two servers"),
        "table",
        head=(
            _("request"),
            _("prompt tokens (N)"),
            _("prompt_n with host memory"),
            _("prompt_n with --cache-ram 0"),
        ),
        rows=[
            (name, on[key].n, on[key].figures.prompt_n, off[key].figures.prompt_n)
            for key, name in names.items()
        ],
        note=_(
            "Both were asked the same, one request after the other, and both say that their slots were emptied."
        ),
    )


def clocks(first: str, second: str) -> Exhibit:
    return Exhibit(
        _("The clock in this round"),
        "table",
        head=(_("request"), _("time")),
        rows=[(_("first"), first), (_("second"), second)],
    )


def slot_content(ask: Recording, allowed: int) -> Exhibit:
    return Exhibit(
        _("Your short prompt of the first round"),
        "table",
        head=(_("what"), _("tokens")),
        rows=[
            (_("in the prompt (N)"), ask.n),
            (_("in the slot when it was free: prompt and answer"), ask.prompt_tokens_after),
            (_("allowed for the answer (max_tokens)"), allowed),
        ],
    )
