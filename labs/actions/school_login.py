"""Which account the school's login opens: the one linked to this subject, or the one with its verified address.

It opens accounts and makes none; it gives nobody a role. Who administers the site is let in by password alone, so
that nobody at the school decides who that is.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from labs.actions.audit import record
from labs.actions.errors import Refused
from labs.models.audit import Verb
from labs.text import N_

ADMIN = N_("Accounts that administer the site log in with their password.")
UNKNOWN = N_(
    "The school knows you, but there is no account here with your address. Ask your instructor to take you in, or log "
    "in with a password."
)
UNVERIFIED = N_("The school has not confirmed your e-mail address, so it opens no account here.")
LINKED = N_(
    "The account with your address belongs to another person of the school's login. Ask an admin to look at it."
)
CLOSED = N_("Your account here is closed.")


@dataclass(frozen=True, slots=True)
class Claims:
    """What the school has signed. `subject` never changes hands; an address may, so it counts only the first time."""

    subject: str
    email: str = ""
    is_verified: bool = False


def account_of(key: str, claims: Claims) -> User:
    """`key` names the issuer. Links the account at the first time. Raises Refused."""
    from allauth.socialaccount.models import SocialAccount  # loaded only where the school's login is on

    links = SocialAccount.objects.filter(provider=key)
    linked = links.filter(uid=claims.subject).select_related("user").first()
    if linked is not None:
        user: User = linked.user
        _let_in(user)
        return user
    user = _by_address(claims)
    _let_in(user)
    with transaction.atomic():
        _link, is_new = links.get_or_create(
            provider=key, uid=claims.subject, defaults={"user": user, "extra_data": {}}
        )
        if links.filter(user=user).count() > 1:
            raise Refused(LINKED)  # and the link is rolled back
        if is_new:
            record(Verb.SCHOOL_LINKED, user, whom=user)
    return user


def _by_address(claims: Claims) -> User:
    if not claims.email or not claims.is_verified:
        raise Refused(UNVERIFIED)
    found = [
        user for user in User.objects.filter(email__iexact=claims.email) if _same(user.email, claims.email)
    ]
    if len(found) != 1:
        raise Refused(UNKNOWN)
    return found[0]


def _same(one: str, other: str) -> bool:
    """Without regard to case in ASCII only: a database takes more for equal, such as the dotless i."""
    return one == other or (one.isascii() and other.isascii() and one.lower() == other.lower())


def _let_in(user: User) -> None:
    if not user.is_active:
        raise Refused(CLOSED)
    if user.is_staff or user.is_superuser:
        raise Refused(ADMIN)
