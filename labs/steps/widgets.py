"""The lab's own widgets: rows of radio buttons, and blocks to put in order. Plain HTML that works without a script; the
page's own module makes them nicer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.safestring import SafeString

from labs.text import Json

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

NONE_OF_THESE = -1
DOUBLE = "?"


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


def draw_token(place: int, token: Json, attributes: str) -> str:
    return (
        f'<label class="token"><input {attributes}><span class="token-place">{place}</span>'
        f'<span class="token-text">{escape(token["text"])}</span></label>\n'
    )


def draw_frame(_place: int, frame: Json, attributes: str) -> str:
    return (
        f'<label class="frame"><input {attributes}><span class="frame-at num">{frame["at_ms"]} ms</span>'
        f'<code class="frame-text">{escape(frame["text"])}</code></label>\n'
    )


def draw_character(place: int, character: Json, attributes: str) -> str:
    text, end = escape(str(character["text"])), " character-end" if character.get("is_end") else ""
    return (
        f'<label class="character{end}"><input {attributes} aria-label="{place}: {text}">'
        f'<span aria-hidden="true">{text}</span></label>'
    )


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
