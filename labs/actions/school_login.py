"""Which account the school's login opens: the one linked to this subject, or the one with its verified address.

It opens accounts and makes none; it gives nobody a role. Who administers the site is let in by password alone, so
that nobody at the school decides who that is.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from labs.actions.audit import record
from labs.actions.errors import Refused
from labs.models import SchoolLink
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
    links = SchoolLink.objects.filter(key=key)
    linked = links.filter(subject=claims.subject).select_related("user").first()
    if linked is not None:
        _let_in(linked.user)
        return linked.user
    user = _by_address(claims)
    _let_in(user)
    try:
        with transaction.atomic():
            SchoolLink.objects.create(user=user, key=key, subject=claims.subject)
            record(Verb.SCHOOL_LINKED, user, whom=user)
    except IntegrityError as error:
        if not links.filter(
            user=user, subject=claims.subject
        ).exists():  # else the same person, twice at once
            raise Refused(LINKED) from error
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
