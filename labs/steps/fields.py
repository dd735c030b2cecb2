"""Form fields of the lab: pick a token, pick a frame, order blocks, a clock value, figures in milliseconds.

Their widgets are plain templates that work without a script; the page's own module makes them nicer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.utils.datastructures import MultiValueDict
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from labs.text import Json

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MOST_TOKENS = 8192
MIN_ANSWER_TOKENS, MAX_ANSWER_TOKENS = 8, 64


class RadioRows(forms.RadioSelect):
    """One radio button a row; a row's number is its value. `draw(number, row, attributes)` gives a row's HTML with the
    button's attributes in it: not a template's part, because prompts have a thousand tokens."""

    is_code = True  # raw text, not words

    def __init__(
        self,
        rows: Sequence[Json],
        template_name: str,
        draw: Callable[[int, Json, str], str],
        none: StrOrPromise = "",
    ) -> None:
        super().__init__()
        self.rows, self.template_name, self.draw, self.none = rows, template_name, draw, none

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        chosen = "" if value is None else str(value)
        before = f'type="radio" name="{escape(name)}" value='
        behind = " disabled" if context["widget"]["attrs"].get("disabled") else ""
        drawn = (
            self.draw(i, row, f'{before}"{i}"{" checked" if chosen == str(i) else ""}{behind}')
            for i, row in enumerate(self.rows)
        )
        context["rows"] = SafeString("".join(drawn))
        context["none"] = self.none and {"label": self.none, "checked": chosen == str(NONE_OF_THESE)}
        return context


def _draw_token(place: int, token: Json, attributes: str) -> str:
    return (
        f'<label class="token"><input {attributes}><span class="token-place">{place}</span>'
        f'<span class="token-text">{escape(token["text"])}</span></label>\n'
    )


def _draw_frame(_place: int, frame: Json, attributes: str) -> str:
    return (
        f'<label class="frame"><input {attributes}><span class="frame-at num">{frame["at_ms"]} ms</span>'
        f'<code class="frame-text">{escape(frame["text"])}</code></label>\n'
    )


def _draw_character(place: int, character: Json, attributes: str) -> str:
    text, end = escape(str(character["text"])), " character-end" if character.get("is_end") else ""
    return (
        f'<label class="character{end}"><input {attributes} aria-label="{place}: {text}">'
        f'<span aria-hidden="true">{text}</span></label>'
    )


NONE_OF_THESE = -1


class TokenPick(forms.IntegerField):
    """Pick one token of a prompt; the value is its place, from 0. Without tokens it asks for the number instead."""

    def __init__(self, tokens: Sequence[Json], **kwargs: Any) -> None:
        last = len(tokens) - 1 if tokens else MOST_TOKENS
        if tokens:
            kwargs["widget"] = RadioRows(tokens, "labs/widgets/token_pick.html", _draw_token)
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
            widget=RadioRows(frames, "labs/widgets/frame_pick.html", _draw_frame, _("None of these")),
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
                _draw_character,
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


class OrderWidget(forms.Widget):
    """A list of blocks with a place for each. Takes `name=a,b,c` from a script, or `name-a=2` from plain selects."""

    template_name = "labs/widgets/block_order.html"

    def __init__(self, blocks: Mapping[str, tuple[StrOrPromise, str]]) -> None:
        super().__init__()
        self.blocks = blocks

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        order = value if isinstance(value, list) else []
        context["places"] = range(1, len(self.blocks) + 1)
        context["blocks"] = [
            {
                "key": key,
                "name": f"{name}-{key}",
                "title": title,
                "text": text,
                "place": order.index(key) + 1 if key in order else None,
            }
            for key, (title, text) in self.blocks.items()
        ]
        return context

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> list[str]:
        whole = data.get(name)
        if whole:
            return [str(part).strip() for part in str(whole).split(",")]
        places = {key: str(data.get(f"{name}-{key}") or "") for key in self.blocks}
        chosen = {key: int(place) for key, place in places.items() if re.fullmatch(r"[0-9]{1,2}", place)}
        if len(set(chosen.values())) < len(chosen):
            return [DOUBLE]  # two blocks in one place have no order
        return sorted(chosen, key=lambda key: chosen[key])

    def value_omitted_from_data(self, data: Mapping[str, Any], files: Any, name: str) -> bool:
        return not any(key == name or key.startswith(f"{name}-") for key in data)


DOUBLE = "?"


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
