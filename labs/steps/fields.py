"""Form fields of the lab: pick a token, pick a frame, order blocks, a clock value, figures in milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext_lazy as _

from labs.steps.widgets import (
    NONE_OF_THESE,
    OrderWidget,
    RadioRows,
    draw_character,
    draw_frame,
    draw_token,
)
from labs.text import Json

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MOST_TOKENS = 8192
MIN_ANSWER_TOKENS, MAX_ANSWER_TOKENS = 8, 64


class TokenPick(forms.IntegerField):
    """Pick one token of a prompt; the value is its place, from 0. Without tokens it asks for the number instead."""

    def __init__(self, tokens: Sequence[Json], **kwargs: Any) -> None:
        last = len(tokens) - 1 if tokens else MOST_TOKENS
        if tokens:
            kwargs["widget"] = RadioRows(tokens, "labs/widgets/token_pick.html", draw_token)
        super().__init__(
            min_value=0,
            max_value=last,
            error_messages={
                "required": _("Pick a token."),
                "invalid": _("Pick a token."),
                "min_value": _("Pick a token of this prompt."),
                "max_value": _("Pick a token of this prompt."),
            },
            **kwargs,
        )


class FramePick(forms.IntegerField):
    """Pick one frame of a shown run; the value is its place, from 0, or -1 for 'none of these'.

    `frames` is [{"at_ms": float, "text": str}].
    """

    def __init__(self, frames: Sequence[Json], **kwargs: Any) -> None:
        super().__init__(
            min_value=NONE_OF_THESE,
            max_value=len(frames) - 1,
            widget=RadioRows(frames, "labs/widgets/frame_pick.html", draw_frame, _("None of these")),
            error_messages={
                "required": _("Pick a frame."),
                "invalid": _("Pick a frame."),
                "min_value": _("Pick a frame of this run."),
                "max_value": _("Pick a frame of this run."),
            },
            **kwargs,
        )


# White space that can be pointed at.
CONTEXT_CHARACTERS = 24
SHOWN_AS = {" ": "\u2423", "\n": "\u21b5", "\t": "\u21e5"}


class CharacterMark(forms.IntegerField):
    """Pick a place in a text; the value is the character's place, from 0, or the text's length for its end."""

    def __init__(self, text: str, **kwargs: Any) -> None:
        rows: list[Json] = [{"text": SHOWN_AS.get(char, char)} for char in text]
        wrong = _("Pick a place in this text.")
        super().__init__(
            min_value=0,
            max_value=len(text),
            widget=RadioRows(
                [*rows, {"text": _("end"), "is_end": True}],
                "labs/widgets/character_mark.html",
                draw_character,
            ),
            error_messages={"required": wrong, "invalid": wrong, "min_value": wrong, "max_value": wrong},
            **kwargs,
        )
        self.text = text

    def summary(self, value: Any) -> str:
        """The marked character between those around it: a place's number tells nobody where it is."""
        if not isinstance(value, int) or not 0 <= value <= len(self.text):
            return str(value)
        before, after = self.text[:value], self.text[value + 1 :]
        marked = SHOWN_AS.get(self.text[value], self.text[value]) if value < len(self.text) else str(_("end"))
        front = "…" if len(before) > CONTEXT_CHARACTERS else ""
        back = "…" if len(after) > CONTEXT_CHARACTERS else ""
        return f"{front}{before[-CONTEXT_CHARACTERS:]}⟦{marked}⟧{after[:CONTEXT_CHARACTERS]}{back}"


class BlockOrder(forms.Field):
    """Order given blocks: `blocks` maps a key to (title, text); the value is the list of all keys in order."""

    def __init__(self, blocks: Mapping[str, tuple[StrOrPromise, str]], **kwargs: Any) -> None:
        super().__init__(widget=OrderWidget(blocks), **kwargs)
        self.keys = list(blocks)

    def to_python(self, value: Any) -> list[str]:
        return list(value or [])

    def validate(self, value: list[str]) -> None:
        if not value:
            raise ValidationError(_("Give every block its place."), code="required")
        if sorted(value) != sorted(self.keys):
            raise ValidationError(
                _("Every block must stand in the prompt exactly once, each in a place of its own."),
                code="invalid",
            )


class ClockField(forms.CharField):
    """A time of day as HH:MM:SS."""

    default_validators = [
        RegexValidator(
            r"\A([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\Z",
            _("Write the time as HH:MM:SS, for example 14:05:09."),
        )
    ]

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("widget", forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}))
        super().__init__(
            max_length=8,
            error_messages={
                "required": _("Write a time."),
                "max_length": _("Write the time as HH:MM:SS, for example 14:05:09."),
            },
            **kwargs,
        )


class ProseField(forms.CharField):
    """Any text that a student writes for the model. Its length is judged in tokens, when the plan is made."""

    widget = forms.Textarea


class OneOf(forms.ChoiceField):
    """One of a few answers, each on a row of its own."""

    def __init__(self, choices: Sequence[tuple[str, StrOrPromise]], **kwargs: Any) -> None:
        super().__init__(
            choices=choices,
            widget=forms.RadioSelect,
            error_messages={"required": _("Choose one answer.")},
            **kwargs,
        )


class MsField(forms.FloatField):
    """Milliseconds, with decimals where wanted."""

    def __init__(self, *, least: float = 0, most: float = 600_000, **kwargs: Any) -> None:
        super().__init__(
            min_value=least,
            max_value=most,
            widget=forms.NumberInput(attrs={"step": "any", "inputmode": "decimal"}),
            error_messages={
                "required": _("Write a number of milliseconds."),
                "invalid": _("Write a number of milliseconds, for example 12.5."),
            },
            **kwargs,
        )


class TokensField(forms.IntegerField):
    """A number of tokens."""

    def __init__(self, *, least: int = 0, most: int = MOST_TOKENS, **kwargs: Any) -> None:
        super().__init__(
            min_value=least,
            max_value=most,
            error_messages={
                "required": _("Write a number of tokens."),
                "invalid": _("Write a whole number of tokens."),
            },
            **kwargs,
        )


class MaxTokensField(TokensField):
    """`max_tokens` wherever a student sets it (lab.md: 8 to 64)."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(least=MIN_ANSWER_TOKENS, most=MAX_ANSWER_TOKENS, **kwargs)


def as_post(values: Mapping[str, Any]) -> MultiValueDict[str, Any]:
    """A post as a browser would send it, from plain values and lists."""
    return MultiValueDict({k: v if isinstance(v, list) else [v] for k, v in values.items()})
