"""Booking a server for a course. Times are the course's own."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from labs.models import Course
from labs.rules.clock import SkippedTime, instant
from labs.views.rules_forms import ENTERED, YEARS
from labs.views.words import say

LOCAL = forms.DateTimeInput(attrs={"type": "datetime-local"}, format=ENTERED)


class CourseField(forms.ModelChoiceField):  # type: ignore[type-arg]  # Django has no such subscript
    def label_from_instance(self, course: Course) -> str:
        return f"{course.title} ({course.zone})"


class BookingForm(forms.Form):
    course = CourseField(Course.objects.order_by("title"), label=_("Course"))
    starts_at = forms.CharField(
        label=_("From"),
        widget=LOCAL,
        help_text=_("On the clock of the course's zone, which stands behind it."),
    )
    ends_at = forms.CharField(label=_("Until"), widget=LOCAL)
    whole_pool = forms.BooleanField(label=_("All servers of its pool"), required=False)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if course := cleaned.get("course"):
            for name in ("starts_at", "ends_at"):
                if text := cleaned.get(name):
                    try:
                        cleaned[name] = _instant(text, course.zone)
                    except ValidationError as error:
                        self.add_error(name, error)
        return cleaned


def _instant(text: str, zone: str) -> datetime:
    try:
        local = datetime.strptime(text.replace(" ", "T")[:16], ENTERED)
        if local.year not in YEARS:
            raise ValueError(text)
        return instant(local, zone)
    except SkippedTime as error:
        raise ValidationError(say(error.text), code="skipped") from error
    except ValueError as error:
        raise ValidationError(_("Write a date and a time, like 2026-11-30 23:59."), code="invalid") from error
