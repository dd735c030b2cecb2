"""Tables of `voice-turn`: the conversation, its documents, and what its turns counted."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext_lazy as _

from labs.grading.turns import first_sentence_tokens
from labs.measure.recording import Recording
from labs.steps import talk
from labs.steps.base import Exhibit
from labs.steps.blocks import clock_line
from labs.steps.talk import TURNS, Talk


def conversation(drawn: Talk) -> Exhibit:
    return Exhibit(
        _("The conversation"),
        "table",
        head=(_("turn"), _("clock line"), _("question"), _("reply, as it stands in later turns")),
        rows=[
            (number, clock_line(turn.clock), turn.question, turn.reply)
            for number, turn in zip(TURNS, drawn.turns, strict=True)
        ],
        note=_(
            "The replies are scripted, so that the later prompts are the same for everybody. In later turns the "
            "earlier ones have neither their clock line nor their documents."
        ),
    )


def documents(drawn: Talk) -> Exhibit:
    return Exhibit(
        _("The documents"),
        "table",
        head=(_("name"), _("text")),
        rows=[(talk.TITLES[key], talk.document(key)) for key in drawn.documents],
        note=_("Each question needs one of them. Two are not needed at all."),
    )


def tokens_to_mouth(turn: Recording) -> int | None:
    """To the end of the first sentence, or of what was written where none ended."""
    tokens = first_sentence_tokens(turn)
    return turn.figures.predicted_n if tokens is None else tokens


def counts(turns: Sequence[Recording]) -> Exhibit:
    return Exhibit(
        _("What your turns counted"),
        "table",
        head=(
            _("turn"),
            _("prompt tokens (N)"),
            "cache_n",
            _("tokens to the end of the first sentence"),
        ),
        rows=[
            (number, turn.n, turn.figures.cache_n, tokens_to_mouth(turn))
            for number, turn in zip(TURNS, turns, strict=True)
        ],
        note=_("Where no sentence ended within the cap, all tokens written are counted."),
    )
