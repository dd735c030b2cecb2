"""The school's login by OpenID Connect: off, and not even loaded, unless the environment names an issuer."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from django.core.exceptions import ImproperlyConfigured

from labhub_voice import env

APPS = [
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
]
MIDDLEWARE = ["allauth.account.middleware.AccountMiddleware"]


@dataclass(frozen=True, slots=True)
class School:
    """`name` stands on the button. `key` names the issuer among the accounts that are linked: a subject is unique at
    its own issuer only."""

    issuer: str
    client_id: str
    secret: str = field(repr=False)
    name: str = ""

    @property
    def key(self) -> str:
        return f"school-{hashlib.sha256(self.issuer.encode()).hexdigest()[:16]}"


def school_login(*, may_be_plain: bool) -> School | None:
    """From LABHUB_OIDC_*. `may_be_plain`: an issuer without TLS is taken too, on a laptop."""
    issuer = env.text("LABHUB_OIDC_ISSUER", "")
    if not issuer:
        return None
    if not issuer.startswith("https://") and not (may_be_plain and issuer.startswith("http://")):
        raise ImproperlyConfigured("LABHUB_OIDC_ISSUER must begin with https://.")
    client_id, secret = env.text("LABHUB_OIDC_CLIENT_ID"), env.text("LABHUB_OIDC_SECRET")
    if not client_id or not secret:
        raise ImproperlyConfigured("LABHUB_OIDC_ISSUER needs LABHUB_OIDC_CLIENT_ID and LABHUB_OIDC_SECRET.")
    return School(issuer, client_id, secret, env.text("LABHUB_OIDC_NAME", ""))
