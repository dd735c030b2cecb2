"""A column whose text nobody can read who has the database alone, a backup of it for instance."""

from __future__ import annotations

import base64
import hashlib
import logging
from typing import TYPE_CHECKING, Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import models

if TYPE_CHECKING:
    Text = models.TextField[str, str]
else:
    Text = models.TextField

log = logging.getLogger(__name__)

MARK = "sealed:"


def seal(text: str) -> str:
    return MARK + _locks().encrypt(text.encode()).decode() if text else ""


def unseal(stored: str) -> str:
    """Empty where it was sealed with a secret that is no longer known; the server then answers that a key is
    missing, and its page says so."""
    if not stored.startswith(MARK):
        return stored  # from before texts were sealed
    try:
        return _locks().decrypt(stored.removeprefix(MARK)).decode()
    except InvalidToken:
        log.warning(
            "A stored key was sealed with another secret. Enter it again, or name the old secret too."
        )
        return ""


class SealedText(Text):
    """Plain in Python, sealed in the database; cannot be searched for."""

    def get_prep_value(self, value: Any) -> Any:
        return seal(str(value)) if value else ""

    def from_db_value(self, value: str | None, *_: Any) -> str:
        return unseal(value or "")


def _locks() -> MultiFernet:
    """The newest secret seals; older ones still open."""
    secrets = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([Fernet(_key(str(secret))) for secret in secrets])


def _key(secret: str) -> bytes:
    # A secret of its own for this use: what is signed with Django's must not be what opens these.
    return base64.urlsafe_b64encode(hashlib.sha256(b"labs.models.sealed\0" + secret.encode()).digest())
