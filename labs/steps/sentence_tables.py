"""Tables of answers, their sentences and their tokens. They hold figures, never the answer to what is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from labs.grading.mouth import Kept, Opening
from labs.steps.base import Exhibit
from labs.steps.three import NAMES

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

ROW_TOKENS = 6
KEPT_NAMES: Mapping[Kept, StrOrPromise] = {
    Kept.KEPT: _("exactly three sentences"),
    Kept.ONE: _("one sentence"),
    Kept.OTHER: _("two sentences, or none"),
    Kept.LIST: _("a numbered list"),
    Kept.MORE: _("more than three sentences"),
    Kept.CUT: _("cut by the cap"),
}


def tally_table(kinds: Sequence[Kept]) -> Exhibit:
    counts = Counter(kinds)
    return Exhibit(
        _("'Exactly three sentences', asked five times"),
        "table",
        head=(_("what came"), _("answers")),
        rows=[(name, counts[kind]) for kind, name in KEPT_NAMES.items()],
        note=_("Small models often do not keep to such an instruction. Code has to."),
    )


def rules_table(texts: Mapping[str, str], openings: Mapping[str, Opening | None]) -> Exhibit:
    return Exhibit(
        _("The first sentence by two rules"),
        "table",
        head=(_("text"), _("a stop, then a blank (the handout's rule)"), _("the rule that is graded here")),
        rows=[
            (NAMES[name], texts[name][: found.teaching_end], texts[name][: found.end])
            for name, found in openings.items()
            if found is not None
        ],
        note=_("Where the middle column is shorter, the handout's rule would speak too early."),
    )


def counted_table(pieces: Sequence[tuple[str, int | None]]) -> Exhibit:
    """The marked answer, a few tokens a row: where its sentences end must be found by reading."""
    rows: list[tuple[str, int | None]] = []
    text, begun, used = "", 0, 0
    for piece, tokens in pieces:
        text, used = text + piece, used + (tokens or 0)
        if used - begun >= ROW_TOKENS:
            rows.append((text, used))
            text, begun = "", used
    if text:
        rows.append((text, used))
    return Exhibit(
        _("The answer that you marked, with its tokens"),
        "table",
        head=(_("text"), _("tokens so far")),
        rows=rows,
    )
