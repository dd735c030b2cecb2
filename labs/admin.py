"""Django's own pages for what has no page of ours yet: courses, who takes part, and endpoints."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from labs.actions import endpoint as verbs
from labs.actions.endpoint import checked_address, forget_findings
from labs.llama.errors import BadAddress
from labs.models import CanaryRun, Course, Endpoint, Enrolment, Pool


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
        fields = ["name", "base_url", "log_path", "pool"]

    def clean_base_url(self) -> str:
        try:
            return checked_address(self.cleaned_data["base_url"])
        except BadAddress as error:
            raise ValidationError(str(error), code=error.reason) from error


@admin.register(Pool)
class PoolAdmin(admin.ModelAdmin):
    list_display = ["name", "fingerprint"]
    readonly_fields = ["fingerprint"]


class CanaryRunInline(admin.TabularInline):
    """The history of what was found there; nobody edits it."""

    model = CanaryRun
    fields = ("at", "found", "facts", "detail")
    readonly_fields = ("at", "found", "facts", "detail")
    extra = max_num = 0
    can_delete = False


@admin.register(Endpoint)
class EndpointAdmin(admin.ModelAdmin):
    form = EndpointForm
    inlines = [CanaryRunInline]
    actions = ["pause", "resume", "try_canaries", "accept"]
    list_display = ["name", "base_url", "state", "has_red_canary", "pool", "detail", "probed_at"]
    readonly_fields = ["state", "detail", "facts", "canaries", "probed_at"]

    def save_model(self, request: HttpRequest, obj: Endpoint, form: Any, change: bool) -> None:
        if "base_url" in form.changed_data:
            forget_findings(obj)
        if key := form.cleaned_data["new_key"]:
            obj.api_key = key
        super().save_model(request, obj, form, change)

    @admin.action(description=_("Pause: what runs ends, nothing new begins"))
    def pause(self, request: HttpRequest, endpoints: QuerySet[Endpoint]) -> None:
        self._say(request, verbs.pause(endpoints))

    @admin.action(description=_("Let back in, to be probed and tried anew"))
    def resume(self, request: HttpRequest, endpoints: QuerySet[Endpoint]) -> None:
        self._say(request, verbs.resume(endpoints))

    @admin.action(description=_("Run the canaries as soon as it is free"))
    def try_canaries(self, request: HttpRequest, endpoints: QuerySet[Endpoint]) -> None:
        self._say(request, verbs.try_canaries(endpoints))

    @admin.action(description=_("Accept its model and build as its pool's"))
    def accept(self, request: HttpRequest, endpoints: QuerySet[Endpoint]) -> None:
        self._say(request, sum(verbs.accept(endpoint) for endpoint in endpoints))

    def _say(self, request: HttpRequest, count: int) -> None:
        self.message_user(request, _("Done for %(count)s endpoints.") % {"count": count})
