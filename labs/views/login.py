"""Login, and the language a newcomer sees first."""

from __future__ import annotations

from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse

from labs.models import Course

Response = TypeVar("Response", bound=HttpResponse)


class Login(LoginView):
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """`school`: the school's own login, where it is on."""
        return {**super().get_context_data(**kwargs), "school": settings.SCHOOL}

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        return in_their_language(super().form_valid(form), self.request, form.get_user())


def in_their_language(response: Response, request: HttpRequest, user: AbstractBaseUser) -> Response:
    """Who never chose a language gets their course's; the switch on every page changes it."""
    if settings.LANGUAGE_COOKIE_NAME not in request.COOKIES:
        course = (
            Course.objects.filter(enrolments__user=user.pk, enrolments__left_at=None).order_by("pk").first()
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
