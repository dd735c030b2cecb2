"""Which account a person of the school's login opens here."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class SchoolLink(models.Model):
    """`subject` is what the issuer calls a person for ever; `key` names the issuer (labhub_voice.school)."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="school_links")
    key = models.CharField(max_length=40)
    subject = models.CharField(max_length=255)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["key", "subject"], name="one_account_a_subject"),
            models.UniqueConstraint(fields=["key", "user"], name="one_subject_an_account"),
        ]
