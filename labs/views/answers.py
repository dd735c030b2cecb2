"""Locked answers as label and value, read back through the round's own form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from labs.views.words import NONE

SHORT_CHARACTERS, SHORT_LINES = 140, 3


@dataclass(frozen=True, slots=True)
class Answer:
    """`value` is what the student wrote or chose; always shown as text."""

    label: str
    value: str
    is_code: bool = False

    @property
    def may_scroll(self) -> bool:
        """Longer than its box may be on a phone: then the keyboard must reach it."""
        return self.is_code or len(self.value) > SHORT_CHARACTERS or self.value.count("\n") >= SHORT_LINES


def answers_of(form: forms.Form, answers: Mapping[str, Any]) -> list[Answer]:
    """In the form's order; an answer without a field of its name comes last under its own name."""
    labels = {name: str(form[name].label) for name in form.fields}
    named = [
        Answer(labels[name], _said(field, answers[name]), getattr(field.widget, "is_code", False))
        for name, field in form.fields.items()
        if name in answers
    ]
    return named + [Answer(key, _plain(value)) for key, value in answers.items() if key not in labels]


def choice_names(form: forms.Form) -> Mapping[str, str]:
    """What each choice of the form's lists and blocks is called, by its stored key. Not the rows of a text."""
    worded = [field for field in form.fields.values() if not getattr(field.widget, "is_code", False)]
    return {key: str(name) for field in worded for key, name in _names(field).items()}


def _said(field: forms.Field, value: Any) -> str:
    if (summary := getattr(field, "summary", None)) is not None:
        return str(summary(value))
    choices = _names(field)
    if isinstance(value, list | tuple):
        return ", ".join(str(choices.get(str(one), one)) for one in value) or NONE
    return str(choices[str(value)]) if str(value) in choices else _plain(value)


def _names(field: forms.Field) -> dict[str, Any]:
    """What each stored value is called, for fields that choose among given things (labs.steps.fields)."""
    widget = field.widget
    if (blocks := getattr(widget, "blocks", None)) is not None:
        return {key: title for key, (title, _text) in blocks.items()}
    if (rows := getattr(widget, "rows", None)) is not None:
        none = getattr(widget, "none", "")
        return {str(i): f"{i}: {row['text']}" for i, row in enumerate(rows)} | ({"-1": none} if none else {})
    return dict(_flat(getattr(field, "choices", ())))


def _flat(choices: Any) -> Iterator[tuple[str, Any]]:
    for value, label in choices:
        if isinstance(label, list | tuple):
            yield from _flat(label)
        else:
            yield str(value), label


def _plain(value: Any) -> str:
    if value is None or value == "":
        return NONE
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value)) or NONE
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_plain(inner)}" for key, inner in value.items())
    return str(value)
