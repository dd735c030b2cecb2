"""A llama-server, what was found there, and the lease: the right to use all of it alone for a while."""

from __future__ import annotations

from typing import Any

from django.db import models

from labs.models.sealed import SealedText


class Pool(models.Model):
    """Endpoints that answer alike: one `fingerprint`, which the first of them sets and an admin may accept anew."""

    name = models.CharField(max_length=100, unique=True)
    fingerprint = models.CharField(max_length=16, blank=True)

    def __str__(self) -> str:
        return self.name


class Endpoint(models.Model):
    """`base_url` is stored normalised and is unique: two names of one server would share its slots unknowingly.

    `resting`: it failed several times in a row, and nothing is sent before `rest_until`; then a canary tries it.
    `quarantined`: its fingerprint is not its pool's. `canaries` is {name: {"green": bool, "reason": Text or None}},
    found for the fingerprint `canaries_of`. `paused`: what ran goes on to its end, nothing new begins; `pause_note`
    says why to those who wait. `removed`: kept for the runs that name it, and nowhere shown.
    `ca_pem`: authorities that this server's certificate may be signed by, besides the system's; `verify_tls` off
    takes any certificate. `probed_as`: what the last probe found, `ok` or a code, also while somebody holds `state` and
    `detail`. `abilities` is {name: bool}, what it was seen to answer (labs.actions.probe).
    """

    class State(models.TextChoices):
        UNKNOWN = "unknown"
        UP = "up"
        LOADING = "loading"
        DOWN = "down"
        RESTING = "resting"
        QUARANTINED = "quarantined"
        PAUSED = "paused"
        REMOVED = "removed"

    name = models.CharField(max_length=100, unique=True)
    base_url = models.CharField(max_length=300, unique=True)
    api_key = SealedText(max_length=300, blank=True)
    verify_tls = models.BooleanField(default=True)
    ca_pem = models.TextField(blank=True)
    log_path = models.CharField(
        max_length=500, blank=True, help_text="The server's log, where this machine can read it."
    )
    state = models.CharField(max_length=16, choices=State.choices, default=State.UNKNOWN)
    detail = models.CharField(max_length=300, blank=True)
    pause_note = models.CharField(max_length=200, blank=True)
    facts = models.JSONField(default=dict, blank=True)
    abilities = models.JSONField(default=dict, blank=True)
    probed_as = models.CharField(max_length=300, blank=True, editable=False)
    probed_at = models.DateTimeField(null=True, blank=True)
    pool = models.ForeignKey(Pool, models.SET_NULL, null=True, blank=True, related_name="endpoints")
    fingerprint = models.CharField(max_length=16, blank=True)
    failures = models.PositiveSmallIntegerField(
        default=0, help_text="In a row; any run that ends well clears it."
    )
    rest_until = models.DateTimeField(null=True, blank=True)
    last_lab_line = models.CharField(max_length=300, blank=True)
    canaries = models.JSONField(default=dict, blank=True)
    canaries_of = models.CharField(max_length=16, blank=True)
    prompt_ms_per_token = models.FloatField(null=True, blank=True)
    canaries_at = models.DateTimeField(null=True, blank=True)
    canaries_tried_at = models.DateTimeField(null=True, blank=True)
    canaries_wanted = models.BooleanField(default=False)
    has_red_canary = models.BooleanField(default=False)

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        super().save(*args, **kwargs)
        Lease.objects.get_or_create(endpoint=self)


class CanaryRun(models.Model):
    """One round of canaries: what they found, on which build and model. A history; the newest also stands on the
    endpoint. `detail` says why a round found nothing."""

    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="canary_runs")
    at = models.DateTimeField(auto_now_add=True)
    facts = models.JSONField(default=dict)
    found = models.JSONField(default=dict)
    detail = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["-at", "-pk"]


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
