"""The form by which an endpoint is entered and changed. The key can be written here, and never read."""

from __future__ import annotations

import ssl
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from labs.actions.console import Entered
from labs.actions.endpoint import checked_address
from labs.actions.probe import ADDRESS
from labs.llama.errors import BadAddress
from labs.models import Endpoint, Pool
from labs.views.ops.log_source import shown_path
from labs.views.ops.words import FOUND
from labs.views.words import say


class EndpointForm(forms.ModelForm):  # type: ignore[type-arg]  # Django has no such subscript
    """`new_pool` makes one. A removed endpoint that has the entered address comes back with its history."""

    new_key = forms.CharField(
        label=_("API key"),
        required=False,
        max_length=300,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_(
            "It is never shown again. Leave it empty to keep the present one; "
            "with another address it has to be entered anew."
        ),
    )
    forget_key = forms.BooleanField(label=_("Forget the present key"), required=False)
    new_pool = forms.CharField(
        label=_("Or a new pool"),
        required=False,
        max_length=100,
        help_text=_("Servers of one pool must be alike: the first says what the others have to be."),
    )

    class Meta:
        model = Endpoint
        fields = ["name", "base_url", "verify_tls", "ca_pem", "log_path", "pool"]
        labels = {
            "name": _("Name"),
            "base_url": _("Address"),
            "verify_tls": _("Check its certificate"),
            "ca_pem": _("Authority that signed its certificate"),
            "log_path": _("Its log"),
            "pool": _("Pool"),
        }
        help_texts = {
            "base_url": _("http://host:port or https://host, as the workers reach it."),
            "ca_pem": _("For a school's own: the certificate as text, from BEGIN to END. Else empty."),
            "log_path": _(
                "A file that this site can read. Empty: there is none, and only the log is missed."
            ),
        }
        widgets = {
            "base_url": forms.TextInput(attrs={"inputmode": "url", "autocapitalize": "none", "size": 40}),
            "ca_pem": forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
            "log_path": forms.TextInput(attrs={"size": 40}),
        }

    def __init__(self, data: Any = None, *, instance: Endpoint | None = None) -> None:
        if instance is None and data is not None:
            instance = _removed_at(str(data.get("base_url", "")))
        super().__init__(data, instance=instance)
        self.is_back = self.instance.pk is not None and self.instance.state == Endpoint.State.REMOVED
        if not self.instance.api_key:
            del self.fields["forget_key"]
        self.order_fields(["name", "base_url", "new_key", "forget_key", "verify_tls", "ca_pem"])

    def clean_base_url(self) -> str:
        try:
            return checked_address(self.cleaned_data["base_url"])
        except BadAddress as error:
            known = FOUND.get(f"{ADDRESS} {error.reason}")
            raise ValidationError(say(known) if known else say(str(error)), code=error.reason) from error

    def clean_ca_pem(self) -> str:
        text: str = self.cleaned_data["ca_pem"].strip()
        if text:
            try:
                ssl.create_default_context(cadata=text)
            except (ssl.SSLError, ValueError, TypeError) as error:
                raise ValidationError(_("This is not a certificate in text form.")) from error
        return text

    def clean_log_path(self) -> str:
        text: str = self.cleaned_data["log_path"].strip()
        if text and text != self.initial.get("log_path") and shown_path(text) is None:
            raise ValidationError(
                _("Logs are read from these folders only: %(folders)s"),
                params={"folders": ", ".join(_folders())},
            )
        return text

    def clean_new_pool(self) -> str:
        name: str = self.cleaned_data["new_pool"].strip()
        if name and Pool.objects.filter(name=name).exists():
            raise ValidationError(_("There is a pool of this name."))
        return name

    @property
    def entered(self) -> Entered:
        """Only after `is_valid()`."""
        names = set(self.changed_data) & set(self.Meta.fields)
        if self.is_back:  # what was found before it was removed is forgotten, as after a move
            names |= {"name", "base_url"}
        return Entered(
            names,
            self.cleaned_data["new_key"],
            bool(self.cleaned_data.get("forget_key")),
            self.cleaned_data["new_pool"],
        )


def _removed_at(url: str) -> Endpoint | None:
    try:
        address = checked_address(url)
    except BadAddress:
        return None
    return Endpoint.objects.filter(state=Endpoint.State.REMOVED, base_url=address).first()


def _folders() -> list[str]:
    return list(settings.LABHUB_LOG_FOLDERS)
