"""Into a course by its code, and into an account by a printed link."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from labs.actions.audit import record
from labs.actions.errors import Refused
from labs.actions.join import join as join_course
from labs.models.audit import Verb
from labs.text import Text
from labs.views.guard import who


class JoinForm(forms.Form):
    code = forms.CharField(
        max_length=40,
        label=gettext_lazy("Enrolment code"),
        help_text=gettext_lazy("Ten letters and digits. Your instructor shows it to the class."),
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false"}
        ),
    )


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest) -> HttpResponse:
    form, status = JoinForm(), 200
    problem: Text | None = None
    if request.method == "POST":
        form, status = JoinForm(request.POST), 422
        if form.is_valid():
            try:
                course = join_course(who(request), form.cleaned_data["code"])
            except Refused as error:
                problem = error.text
            else:
                messages.success(request, _("You take part in this course: %s") % course.title)
                return redirect("home")
    return render(request, "labs/join.html", {"form": form, "problem": problem}, status=status)


class SetPassword(PasswordResetConfirmView):
    """Whoever has the link chooses a password, once. Django moves the link's secret into the session at once, so
    that it stands in no address afterwards."""

    template_name = "registration/set_password.html"
    success_url = reverse_lazy("login")

    def get_form(self, form_class: type[SetPasswordForm[User]] | None = None) -> SetPasswordForm[User]:
        """With a sentence in place of Django's list, which no description of a field can hold."""
        form: SetPasswordForm[User] = super().get_form(form_class)
        form.fields["new_password1"].help_text = _(
            "At least eight characters, not like your login, and none of those that everybody uses."
        )
        return form

    def form_valid(self, form: SetPasswordForm[User]) -> HttpResponse:
        response = super().form_valid(form)
        record(Verb.PASSWORD_SET, form.user, whom=form.user)
        messages.success(self.request, _("Your password is set. Log in with it."))
        return response
