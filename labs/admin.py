"""Django's own pages for what has no page of ours yet: courses, who takes part, and endpoints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from labs.actions import endpoint as verbs
from labs.actions.audit import record_all
from labs.actions.endpoint import checked_address
from labs.llama.errors import BadAddress
from labs.models import CanaryRun, Course, Endpoint, Enrolment, Pool, Role
from labs.models.audit import Verb


class Audited(admin.ModelAdmin):
    """Whatever is changed on these pages stands in the audit too, with the address that it came from."""

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        _tell(Verb.ADDED, request, [obj], message)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        _tell(Verb.CHANGED, request, [obj], message)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        _tell(Verb.DELETED, request, queryset, [])
        return super().log_deletions(request, queryset)


def _tell(verb: Verb, request: HttpRequest, objects: Iterable[Any], message: Any) -> None:
    """`message` is Django's list of what changed: names of fields and of rows, never a value."""
    rows = [(_whom(one), f"{one._meta.verbose_name} {one}", {"changes": message}) for one in objects]
    record_all(verb, request.user, rows)


def _whom(one: Any) -> User | None:
    if isinstance(one, Enrolment):
        return one.user
    return one if isinstance(one, User) else None


admin.site.unregister(User)


@admin.register(User)
class AuditedUserAdmin(Audited, UserAdmin):
    pass


class InstructorInline(admin.TabularInline):
    """Who teaches. Not the students: six form fields for each of a large class are more than Django takes at once."""

    model = Enrolment
    verbose_name_plural = _("Instructors")
    autocomplete_fields = ["user"]
    extra = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet[Enrolment]:
        found: QuerySet[Enrolment] = super().get_queryset(request)
        return found.filter(role=Role.INSTRUCTOR)

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        formset = super().get_formset(request, obj, **kwargs)
        formset.form.base_fields["role"].initial = Role.INSTRUCTOR
        return formset


@admin.register(Course)
class CourseAdmin(Audited):
    HELP = {
        "ends_at": _("In UTC. From then on nothing is taken any more; what was done can still be read."),
        "erase_after_days": _(
            "So many days after the end the students' names, answers and recordings are erased; points stay under code"
            " names. Empty: as the site's setting says."
        ),
    }

    list_display = ["title", "slug", "zone", "language"]
    inlines = [InstructorInline]

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        return super().get_form(request, obj, change, **{"help_texts": self.HELP, **kwargs})


@admin.register(Enrolment)
class EnrolmentAdmin(Audited):
    """One person's part in a course. Classes are taken in on the courses' own pages."""

    list_display = ["user", "course", "role", "number", "left_at"]
    list_filter = ["course", "role"]
    list_select_related = ["user", "course"]
    search_fields = ["user__username", "number"]
    autocomplete_fields = ["user"]


class EndpointForm(forms.ModelForm):
    """The key can be set and changed here, and never read."""

    new_key = forms.CharField(
        label=_("API key"),
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_(
            "Leave it empty to keep the present one; with another address it has to be entered anew."
        ),
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
class PoolAdmin(Audited):
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
class EndpointAdmin(Audited):
    form = EndpointForm
    inlines = [CanaryRunInline]
    actions = ["pause", "resume", "try_canaries", "accept"]
    list_display = ["name", "base_url", "state", "has_red_canary", "pool", "detail", "probed_at"]
    readonly_fields = ["state", "detail", "facts", "canaries", "probed_at"]

    def save_model(self, request: HttpRequest, obj: Endpoint, form: Any, change: bool) -> None:
        verbs.save(obj, set(form.changed_data) - {"new_key"}, form.cleaned_data["new_key"])

    @admin.action(description=_("Pause: what runs ends, nothing new begins"))
    def pause(self, request: HttpRequest, endpoints: QuerySet[Endpoint]) -> None:
        self._say(request, "pause", endpoints, verbs.pause(endpoints))

    @admin.action(description=_("Let back in, to be probed and tried anew"))
    def resume(self, request: HttpRequest, endpoints: QuerySet[Endpoint]) -> None:
        self._say(request, "resume", endpoints, verbs.resume(endpoints))

    @admin.action(description=_("Run the canaries as soon as it is free"))
    def try_canaries(self, request: HttpRequest, endpoints: QuerySet[Endpoint]) -> None:
        self._say(request, "try_canaries", endpoints, verbs.try_canaries(endpoints))

    @admin.action(description=_("Accept its model and build as its pool's"))
    def accept(self, request: HttpRequest, endpoints: QuerySet[Endpoint]) -> None:
        self._say(request, "accept", endpoints, sum(verbs.accept(endpoint) for endpoint in endpoints))

    def _say(self, request: HttpRequest, action: str, endpoints: QuerySet[Endpoint], count: int) -> None:
        record_all(Verb.DONE, request.user, [(None, f"{action} {one}", {}) for one in endpoints])
        self.message_user(request, _("Done for %(count)s endpoints.") % {"count": count})
