"""Login, and the language a newcomer sees first."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpResponse

from labs.models import Course


class Login(LoginView):
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Who never chose a language gets their course's; the switch on every page changes it."""
        response = super().form_valid(form)
        if settings.LANGUAGE_COOKIE_NAME not in self.request.COOKIES:
            course = (
                Course.objects.filter(enrolments__user=form.get_user(), enrolments__left_at=None)
                .order_by("pk")
                .first()
            )
            if course is not None and course.language in dict(settings.LANGUAGES):
                response.set_cookie(
                    settings.LANGUAGE_COOKIE_NAME,
                    course.language,
                    max_age=365 * 24 * 3600,
                    samesite="Lax",
                    secure=settings.SESSION_COOKIE_SECURE,
                )
        return response
