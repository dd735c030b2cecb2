"""What a person is called."""

from __future__ import annotations

from django.contrib.auth.models import User


def full_name(user: User) -> str:
    """'김민준', 'Ada Lovelace', or nothing where no name is known."""
    return joined(user.last_name, user.first_name)


def joined(family: str, given: str) -> str:
    """A name in the order of its script."""
    family, given = family.strip(), given.strip()
    is_hangul = bool(family) and all("\uac00" <= letter <= "\ud7a3" for letter in family + given)
    return f"{family}{given}" if is_hangul else f"{given} {family}".strip()
