"""The forms of a course's people: a list as a file or pasted, and how long a code holds."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from labs.tables.decode import decode
from labs.tables.errors import Unreadable
from labs.views.words import say

LARGEST_FILE_BYTES = 256 * 1024
# A file of CP949 grows by half as UTF-8, and comes back so from the preview.
LONGEST_LIST_BYTES = 512 * 1024
MOST_DAYS = 365


class RosterForm(forms.Form):
    """After `is_valid()`, `text` is the list and `encoding` what the file was read as, empty for a pasted one."""

    file = forms.FileField(
        required=False,
        allow_empty_file=True,
        label=_("A file"),
        help_text=_(
            "CSV or text of at most 256 KiB: UTF-8, CP949 or UTF-16, with commas, semicolons or tabs."
        ),
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.tsv,.txt,text/csv,text/plain"}),
    )
    people = forms.CharField(
        required=False,
        strip=False,
        label=_("Or the list itself"),
        help_text=_("One person a line. Copied cells of a spreadsheet will do."),
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
    )

    text = ""
    encoding = ""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        file: UploadedFile[Any] | None = cleaned.get("file")
        if file is not None and file.size is not None and file.size > LARGEST_FILE_BYTES:
            self.add_error("file", _("This file is larger than 256 KiB. Is it the list?"))
        elif file is not None:
            try:
                decoded = decode(file.read())
            except Unreadable as error:
                self.add_error("file", say(error.text))
            else:
                self.text, self.encoding = decoded.text, decoded.name
        elif len(pasted := cleaned.get("people", "").encode()) > LONGEST_LIST_BYTES:
            self.add_error("people", _("This list is larger than 512 KiB. Is it the list?"))
        elif pasted.strip():
            self.text = cleaned["people"]
        elif not self.errors:
            self.add_error(None, _("Choose a file, or paste the list."))
        return cleaned


class CodeForm(forms.Form):
    days = forms.IntegerField(min_value=1, max_value=MOST_DAYS, initial=14, label=_("How many days it holds"))
