"""Django's own pages for what has no page of ours yet: courses, who takes part, and endpoints."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from labs.actions.endpoint import checked_address, forget_findings
from labs.llama.errors import BadAddress
from labs.models import Course, Endpoint, Enrolment


class EnrolmentInline(admin.TabularInline):
    model = Enrolment
    autocomplete_fields = ["user"]
    extra = 0


@admin.register(Course)
class CourseAdmin(admin.ModelAdmin):
    list_display = ["title", "slug", "zone", "language"]
    inlines = [EnrolmentInline]


class EndpointForm(forms.ModelForm):
    """The key can be set and changed here, and never read."""

    new_key = forms.CharField(
        label=_("API key"),
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_("Leave it empty to keep the present one."),
    )

    class Meta:
        model = Endpoint
        fields = ["name", "base_url", "log_path"]

    def clean_base_url(self) -> str:
        try:
            return checked_address(self.cleaned_data["base_url"])
        except BadAddress as error:
            raise ValidationError(str(error), code=error.reason) from error


@admin.register(Endpoint)
class EndpointAdmin(admin.ModelAdmin):
    form = EndpointForm
    list_display = ["name", "base_url", "state", "detail", "probed_at"]
    readonly_fields = ["state", "detail", "facts", "probed_at"]

    def save_model(self, request: HttpRequest, obj: Endpoint, form: Any, change: bool) -> None:
        if "base_url" in form.changed_data:
            forget_findings(obj)
        if key := form.cleaned_data["new_key"]:
            obj.api_key = key
        super().save_model(request, obj, form, change)
