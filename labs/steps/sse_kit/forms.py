"""The form of both rounds: the source, and what it gave back for each stream."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from labs.steps.base import StepForm
from labs.steps.sse_kit.answers import DEFINES_FEED, DEFINES_PARSE, FUNCTIONS, NoAnswers, read_answers
from labs.steps.sse_kit.source import source
from labs.steps.sse_kit.strings import strings
from labs.text import Json

MOST_SOURCE_CHARACTERS = 20_000


class SourceEditor(forms.Textarea):
    """A plain field for code; the page's bundle puts an editor over it and runs it on `streams`."""

    template_name = "labs/widgets/sse_editor.html"
    is_code = True

    def __init__(self, streams: Json) -> None:
        super().__init__({"rows": 30, "spellcheck": "false", "autocapitalize": "off", "autocomplete": "off"})
        self.streams = streams

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        context["streams"] = {
            function: self.streams[function] for function in FUNCTIONS if function in self.streams
        }
        context["strings"] = strings()
        return context


class ResultsField(forms.CharField):
    """JSON text in the form, what was read from it in the answers."""

    def prepare_value(self, value: Any) -> Any:
        return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value

    def summary(self, value: Any) -> str:
        """For people: how many streams each function answered."""
        counts = {name: sum("value" in answer for answer in given.values()) for name, given in value.items()}
        return ", ".join(f"{name}: {count}/{len(value[name])}" for name, count in counts.items())


class SourceForm(StepForm):
    """`results` is JSON text as `read_answers` takes it; once valid, what was read."""

    def build(self) -> None:
        self.fields["source"] = forms.CharField(
            label=_("sse.py"),
            initial=self._last_source(),
            max_length=MOST_SOURCE_CHARACTERS,
            strip=False,
            widget=SourceEditor(self.challenge),
            error_messages={
                "required": _("Write sse.py first."),
                "max_length": _("This file is too long: at most 20,000 characters."),
            },
        )
        self.fields["results"] = ResultsField(
            label=_("What your code gave back, as JSON"),
            help_text=_(
                "Filled in when your code has run here. Where Python does not start in your browser, run it in a "
                "terminal and put the content of answers.json here."
            ),
            widget=forms.Textarea({"rows": 4, "class": "sse-answers", "spellcheck": "false"}),
            error_messages={
                "required": _(
                    "Your code has not run on the streams yet. Run it here, or in a terminal and upload its answers."
                )
            },
        )

    def clean_source(self) -> str:
        text = str(self.cleaned_data["source"]).replace("\r\n", "\n")
        if not DEFINES_PARSE.search(text):
            raise ValidationError(
                _("This file defines no function parse(lines, now). The streams are read by it.")
            )
        return text

    def clean_results(self) -> Json:
        try:
            results = read_answers(self.cleaned_data["results"], self.challenge)
        except NoAnswers as error:
            raise ValidationError(
                _(
                    "These are not the answers of a run: they must be the JSON that a run gives. Run your code again."
                )
            ) from error
        if not DEFINES_FEED.search(self.cleaned_data.get("source") or ""):
            results.pop("feed", None)
        return results

    def _last_source(self) -> str:
        locked = [row.answers["source"] for row in self.seen.values() if "source" in row.answers]
        return str(locked[-1]) if locked else source("starter")


def files(streams: Json) -> dict[str, str]:
    """For a terminal: the streams, and one file that holds the starter and runs it on them."""
    return {
        "streams.json": json.dumps(streams, ensure_ascii=False),
        "sse.py": source("starter") + source("terminal"),
    }
