"""A llama-server, what a probe found there, and the lease: the right to use all of it alone for a while."""

from __future__ import annotations

from typing import Any

from django.db import models


class Endpoint(models.Model):
    """`base_url` is stored normalised and is unique: two names of one server would share its slots unknowingly."""

    class State(models.TextChoices):
        UNKNOWN = "unknown"
        UP = "up"
        LOADING = "loading"
        DOWN = "down"
        PAUSED = "paused"

    name = models.CharField(max_length=100, unique=True)
    base_url = models.CharField(max_length=300, unique=True)
    api_key = models.CharField(max_length=300, blank=True)
    log_path = models.CharField(
        max_length=500, blank=True, help_text="The server's log, where this machine can read it."
    )
    state = models.CharField(max_length=16, choices=State.choices, default=State.UNKNOWN)
    detail = models.CharField(max_length=300, blank=True)
    facts = models.JSONField(default=dict, blank=True)
    probed_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        super().save(*args, **kwargs)
        Lease.objects.get_or_create(endpoint=self)


class Lease(models.Model):
    """One row an endpoint. `token` only grows; a write that carries an older one is refused (fencing).

    Free when `holder` is empty or `expires_at` (database time) has passed.
    """

    endpoint = models.OneToOneField(Endpoint, models.CASCADE, related_name="lease")
    token = models.BigIntegerField(default=0)
    holder = models.CharField(max_length=100, blank=True)
    run = models.OneToOneField("Run", models.SET_NULL, null=True, blank=True, related_name="lease")
    expires_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.endpoint} #{self.token} {self.holder or 'free'}"
