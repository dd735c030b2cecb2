"""The forms of `voice-turn`."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from labs.steps import talk
from labs.steps.base import StepForm
from labs.steps.fields import BlockOrder, MaxTokensField, MsField, TokensField
from labs.steps.talk import TURNS, Talk
from labs.steps.talk_fields import RidingField, StyleLine

TITLES = {
    talk.STYLE: _("Your style line"),
    talk.DOCS: _("The documents that ride with the turn"),
    talk.EARLIER: _("The earlier turns: questions and replies"),
    talk.CLOCK: _("The clock line"),
    talk.QUESTION: _("The question of the turn"),
}


class DesignForm(StepForm):
    def build(self) -> None:
        drawn = Talk.of(self.challenge)
        shown = {
            **talk.reference(drawn).parts(drawn, 1),
            talk.STYLE: str(_("What you write below.")),
            talk.DOCS: str(_("Those that you tick below.")),
        }
        self.fields["order"] = BlockOrder(
            {
                block: (TITLES[block], shown.get(block, ""))
                for block in (talk.CLOCK, talk.STYLE, talk.DOCS, talk.EARLIER, talk.QUESTION)
            },
            label=_("Order the blocks of every turn's prompt."),
            help_text=_("The question must stand behind the earlier turns; all else is yours."),
        )
        self.fields["riding"] = RidingField(
            {key: talk.TITLES[key] for key in drawn.documents},
            TURNS,
            label=_("Which documents ride with which turn?"),
        )
        self.fields["style"] = StyleLine(label=_("Your style line, at most 200 characters"))
        self.fields["max_tokens"] = MaxTokensField(label=_("The cap: max_tokens of every turn (8 to 64)"))
        self.fields["sentences"] = forms.IntegerField(
            min_value=1,
            max_value=5,
            initial=3,
            label=_("The clip: how many sentences may the voice say (1 to 5)?"),
            help_text=_("What comes after is dropped before it is spoken. Not marked."),
            error_messages={
                "required": _("Write a number of sentences."),
                "invalid": _("Write a whole number."),
            },
        )
        self.fields["guess"] = TokensField(
            label=_("How many prompt tokens will turns 2 to 5 compute, all together?")
        )

    def clean_order(self) -> list[str]:
        order: list[str] = self.cleaned_data["order"]
        if order.index(talk.QUESTION) < order.index(talk.EARLIER):
            raise forms.ValidationError(_("The question must stand behind the earlier turns."))
        return order


class MouthForm(StepForm):
    def build(self) -> None:
        self.fields["mouth_ms"] = MsField(
            label=_(
                "Take 4.5 ms for a prompt token that is computed and 9 ms for a token that is written: after how many "
                "milliseconds may the voice start in turn %(turn)s, by these counts?"
            )
            % {"turn": self.challenge["turn"]}
        )
