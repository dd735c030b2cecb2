"""How the embedded server is to be started."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from labs.actions.managed import models
from labs.llama.wanted import Said, Wanted

MOST_SLOTS, MOST_THREADS, MOST_CTX, MOST_BATCH = 16, 256, 1_000_000, 2048


class ManagedForm(forms.Form):
    model = forms.ChoiceField(label=_("Model"))
    threads = forms.IntegerField(
        label=_("Threads"), min_value=0, max_value=MOST_THREADS, help_text=_("0: as many as it may use here.")
    )
    slots = forms.IntegerField(label=_("Slots"), min_value=1, max_value=MOST_SLOTS)
    ctx = forms.IntegerField(
        label=_("Context in tokens"),
        min_value=512,
        max_value=MOST_CTX,
        help_text=_("Shared out among the slots."),
    )
    batch = forms.IntegerField(
        label=_("Batch in tokens"),
        min_value=32,
        max_value=MOST_BATCH,
        help_text=_("A closed connection is noticed between batches only: the lab takes 128."),
    )

    def __init__(self, said: Said, data: Any = None) -> None:
        initial = {"model": said.model, "threads": said.threads, "slots": said.slots or 2}
        super().__init__(data, initial={**initial, "ctx": said.ctx or 8192, "batch": said.batch or 128})
        self.fields["model"].choices = [(str(path), path.name) for path in models()]  # type: ignore[attr-defined]

    def wanted(self) -> Wanted:
        """Only after `is_valid()`."""
        return Wanted(runs=True, **self.cleaned_data)
