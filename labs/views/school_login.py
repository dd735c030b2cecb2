"""To the school's login and back, by django-allauth. This file is imported only where that login is on.

Of allauth only the protocol is used: discovery, state, PKCE and the exchange of the code. None of its pages has an
address here, nothing is written to its tables, and nothing that the request names goes into what is sent to the school.
"""

from __future__ import annotations

from typing import Any

import requests
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter, get_adapter
from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.base import AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from labs.actions.errors import Refused
from labs.actions.school_login import Claims, account_of
from labs.views.login import in_their_language
from labs.views.words import say

NEXT = "labs.school_next"
BACKEND = "django.contrib.auth.backends.ModelBackend"
NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")


def _school() -> Any:
    """labhub_voice.school.School."""
    return settings.SCHOOL


class SchoolErrors(DefaultSocialAccountAdapter):
    """Whatever goes wrong on the way ends at our login page, with a sentence."""

    def on_authentication_error(self, request: HttpRequest, provider: Any, **_: Any) -> None:
        raise ImmediateHttpResponse(_refused(request))

    def list_apps(self, request: HttpRequest, provider: Any = None, client_id: Any = None) -> list[SocialApp]:
        """The one of our settings; none that somebody wrote into a table."""
        school = _school()
        how = {"server_url": school.issuer.rstrip("/"), "oauth_pkce_enabled": True}
        return [
            SocialApp(
                provider="openid_connect",
                provider_id=school.key,
                name=school.name,
                client_id=school.client_id,
                secret=school.secret,
                settings=how,
            )
        ]

    def get_requests_session(self) -> requests.Session:
        """Follows no redirect: the client's secret goes to the address that was named, and nowhere else."""
        session: requests.Session = super().get_requests_session()
        session.max_redirects = 0
        return session


class SchoolAdapter(OpenIDConnectOAuth2Adapter):
    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request, _school().key)

    @property
    def openid_config(self) -> dict[str, Any]:
        config: dict[str, Any] = super().openid_config
        if config.get("issuer") != _school().issuer or not all(name in config for name in NEEDED):
            raise OAuth2Error("the issuer's configuration is another's, or not whole")
        return config

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        return request.build_absolute_uri(reverse("school-login-back"))

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **kwargs: Any) -> Any:
        """Ends in an answer of ours, never in allauth's own login."""
        raise ImmediateHttpResponse(_enter(request, self._claims(app, token, kwargs["response"])))

    def _claims(self, app: Any, token: Any, response: dict[str, Any]) -> Claims:
        """Of the signed token; the signature is checked also where the token came straight from the school."""
        if not (id_token := response.get("id_token")):
            raise OAuth2Error("no id_token")
        found = jwtkit.verify_and_decode(
            credential=id_token,
            keys_url=self.openid_config["jwks_uri"],
            issuer=_school().issuer,
            audience=app.client_id,
            lookup_kid=jwtkit.lookup_kid_jwk,
        )
        if not found.get("sub") or "exp" not in found:
            raise OAuth2Error("an id_token without a subject or an end")
        if "email" not in found and "userinfo_endpoint" in self.openid_config:
            asked = self._fetch_user_info(token.token)
            if asked.get("sub") != found["sub"]:
                raise OAuth2Error("userinfo of somebody else")
            found = {**asked, **found}
        return Claims(str(found["sub"]), str(found.get("email", "")), found.get("email_verified") is True)


@never_cache
@require_GET
def begin(request: HttpRequest) -> HttpResponse:
    """A link and no form: the browser's policy forbids a form to end elsewhere, and so it stays."""
    wanted = request.GET.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    request.session[NEXT] = wanted if is_ours else ""
    adapter = SchoolAdapter(request)
    try:
        provider = get_adapter(request).get_provider(request, _school().key)
        provider.oauth2_adapter_class = lambda *_: adapter
        answer: HttpResponse = provider.redirect(
            request, process=AuthProcess.LOGIN, scope=["openid", "email"]
        )
    except (OAuth2Error, requests.RequestException):
        return _refused(request)
    return answer


@never_cache
@require_GET
def back(request: HttpRequest) -> HttpResponse:
    try:
        answer: HttpResponse = OAuth2CallbackView.adapter_view(SchoolAdapter(request))(request)
    except (KeyError, TypeError, ValueError):  # an answer that has not the shape of one
        return _refused(request)
    return answer


def _enter(request: HttpRequest, claims: Claims) -> HttpResponse:
    wanted = request.session.pop(NEXT, "")
    try:
        user = account_of(_school().key, claims)
    except Refused as error:
        messages.error(request, say(error.text))
        return redirect("login")
    login(request, user, backend=BACKEND)
    return in_their_language(redirect(wanted or resolve_url(settings.LOGIN_REDIRECT_URL)), request, user)


def _refused(request: HttpRequest) -> HttpResponse:
    messages.error(request, _("The school's login did not work. Try again, or log in with your password."))
    return redirect("login")
