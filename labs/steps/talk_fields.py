"""Fields of `voice-turn`: a style line of the student's own, and which documents ride with which turn."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from unicodedata import category

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

STYLE_CHARACTERS = 200
# Chat templates are written with these: <|im_end|>, [INST], {{ content }}.
_MARKUP = re.compile(r"[<>\[\]{}|]")
_NOT_PLAIN = frozenset({"Cc", "Cn", "Co", "Zl", "Zp"})


class StyleLine(forms.CharField):
    """One line in the student's words. It goes into the prompt as it stands, so it must not speak to the template."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            max_length=STYLE_CHARACTERS,
            required=False,
            widget=forms.TextInput(
                attrs={"dir": "auto", "autocomplete": "off", "spellcheck": "true", "size": "70"}
            ),
            error_messages={
                "max_length": _("Write at most %(limit_value)d characters; this line has %(show_value)d.")
            },
            **kwargs,
        )

    def validate(self, value: str) -> None:
        super().validate(value)
        if any(category(char) in _NOT_PLAIN for char in value):
            raise ValidationError(
                _("Write a single line of plain text, without line breaks or control characters.")
            )
        if _MARKUP.search(value):
            raise ValidationError(
                _(
                    "Use plain words: the signs < > [ ] { } | are not allowed here, because chat templates give them a "
                    "meaning of their own."
                )
            )


class RidingWidget(forms.CheckboxSelectMultiple):
    """A table of checkboxes, a row a document, a column a turn."""

    template_name = "labs/widgets/riding.html"

    def __init__(self, documents: Mapping[str, StrOrPromise], turns: Sequence[int]) -> None:
        super().__init__()
        self.documents, self.turns = documents, turns

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        chosen = {str(one) for one in value or ()}
        context["turns"] = self.turns
        context["documents"] = [
            {
                "title": title,
                "cells": [
                    {"turn": turn, "value": f"{turn}:{key}", "checked": f"{turn}:{key}" in chosen}
                    for turn in self.turns
                ],
            }
            for key, title in self.documents.items()
        ]
        return context


class RidingField(forms.MultipleChoiceField):
    """Which documents ride with which turn: the value is a list of 'turn:document'."""

    def __init__(self, documents: Mapping[str, StrOrPromise], turns: Sequence[int], **kwargs: Any) -> None:
        super().__init__(
            choices=[
                (f"{turn}:{key}", f"{turn}: {title}") for turn in turns for key, title in documents.items()
            ],
            widget=RidingWidget(documents, turns),
            error_messages={"required": _("Let at least one document ride along.")},
            **kwargs,
        )
        self.documents = documents

    def summary(self, value: Any) -> str:
        """A line a document, with the turns it rides with."""
        riding = riding_of(value if isinstance(value, list | tuple) else ())
        lines = {
            title: ", ".join(str(turn) for turn, keys in sorted(riding.items()) if key in keys)
            for key, title in self.documents.items()
        }
        return "\n".join(f"{title}: {turns or '–'}" for title, turns in lines.items())


def riding_of(chosen: Sequence[str]) -> dict[int, list[str]]:
    """By turn, from 1."""
    found: dict[int, list[str]] = {}
    for one in chosen:
        turn, _colon, key = one.partition(":")
        found.setdefault(int(turn), []).append(key)
    return found
