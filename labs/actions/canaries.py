"""Canaries on a leased endpoint: when they are due, running them, keeping what they found."""

from __future__ import annotations

import logging
import random
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from labs.actions import breaker
from labs.actions.claim import LeaseKey, free_leases, waiting
from labs.actions.speed import facts_of
from labs.actions.storable import storable
from labs.grading.canaries import CANARIES, Canary
from labs.grading.sane import Fault
from labs.llama.client import LlamaClient
from labs.llama.stream import Limits
from labs.measure.board import Board, wait_idle
from labs.measure.control import Control
from labs.measure.drive import Driver
from labs.measure.outcome import Drive
from labs.measure.pace import with_speed
from labs.measure.recording import ServerFacts
from labs.models import CanaryRun, Endpoint, Lease, Run
from labs.text import N_, Json, Text

log = logging.getLogger(__name__)

LIMITS = Limits(first_token_s=30, idle_s=10, total_s=40)
IDLE_LIMIT_S = 15
HOURLY_S = 3600
RED_AGAIN_S = 300
TRY_AGAIN_S = 30
ROUNDS_KEPT = 300
# Kept from students: tried when an admin asks for it, once.
ASKED_ONLY = (Endpoint.State.PAUSED, Endpoint.State.QUARANTINED)
NO_SLOTS = N_("This server does not answer /slots, so nobody can see who else uses it.")
SUSPICIOUS = (Run.Outcome.INCONCLUSIVE, Run.Outcome.DISTURBED)


class Unanswered(Exception):
    """The server could not be tried: busy, away, or lost on the way."""


@dataclass(frozen=True, slots=True)
class Held:
    """The lease of an endpoint, for its canaries. Whoever runs them beats it (labs.actions.watch)."""

    endpoint: Endpoint
    worker: str
    token: int
    attempt: None = None

    @property
    def lease(self) -> LeaseKey:
        return self.endpoint.pk, self.token


def due() -> QuerySet[Endpoint]:
    """Endpoints to be tried now: changed, asked for, red a while ago, hourly when idle, or at the end of a rest."""
    up = Q(state=Endpoint.State.UP)
    red = Q(has_red_canary=True, canaries_at__lt=_ago(RED_AGAIN_S))
    new = ~Q(canaries_of=F("fingerprint"))
    reasons = new | Q(canaries_wanted=True) | red
    if not waiting().exists():
        reasons |= Q(canaries_at__lt=_ago(HOURLY_S))
    rested = Q(state=Endpoint.State.RESTING, rest_until__lte=Now())
    asked = Q(state__in=ASKED_ONLY, canaries_wanted=True)
    not_just_now = Q(canaries_tried_at__isnull=True) | Q(canaries_tried_at__lt=_ago(TRY_AGAIN_S))
    return Endpoint.objects.filter((((up & reasons) | asked) & not_just_now) | rested)


def claim_canaries(worker: str) -> Held | None:
    """The lease of an endpoint whose canaries are due and that is free."""
    for lease in free_leases().filter(endpoint__in=due()).select_related("endpoint"):
        taken = (
            free_leases()
            .filter(pk=lease.pk, token=lease.token)
            .update(
                token=lease.token + 1,
                holder=worker,
                expires_at=Now() + timedelta(seconds=settings.LABHUB_LEASE_S),
            )
        )
        if taken:
            return Held(lease.endpoint, worker, lease.token + 1)
    return None


def run_canaries(held: Held, client: LlamaClient, control: Control) -> None:
    """All canaries, each red one a second time. What a server cannot answer keeps its last colours."""
    endpoint = held.endpoint
    Endpoint.objects.filter(pk=endpoint.pk).update(canaries_tried_at=Now())
    found: dict[str, Json] = {}
    detail = ""
    round_ = _Round(held.endpoint, client, control)
    try:
        found = round_.run()
    except Unanswered as error:
        detail = str(error)
        log.warning("canaries of %s: %s", endpoint, detail)
    except Exception:  # a fault of ours: it keeps neither the worker nor the server from its students
        log.exception("canaries of %s failed", endpoint)
        _lease(held).update(holder="", expires_at=None)
        return
    if not _lease(held).update(holder="", expires_at=None):
        log.warning("canaries of %s came too late (token %s)", endpoint, held.token)
        return
    _keep(endpoint, found, detail, round_.seen.prompt_ms_per_token)


def want_after_doubts(endpoint: Endpoint) -> None:
    """Two runs in a row that proved nothing: the server is tried, once for such a pair."""
    last = list(
        Run.objects.filter(endpoint=endpoint, copy_of=None)
        .exclude(outcome__in=[Run.Outcome.NONE, Run.Outcome.NOT_IDLE, Run.Outcome.CANCELLED])
        .order_by("-pk")
        .values_list("outcome", "started_at")[:2]
    )
    if len(last) == 2 and all(outcome in SUSPICIOUS for outcome, _at in last):
        not_since = Q(canaries_at__isnull=True) | Q(canaries_at__lt=last[-1][1])
        here = Endpoint.objects.filter(not_since, pk=endpoint.pk).exclude(state__in=ASKED_ONLY)
        here.update(canaries_wanted=True)


def _ago(seconds: float) -> object:
    return Now() - timedelta(seconds=seconds)


def _lease(held: Held) -> QuerySet[Lease]:
    """The row, as long as it is ours."""
    return Lease.objects.filter(
        endpoint_id=held.endpoint.pk, token=held.token, holder=held.worker, expires_at__gt=Now()
    )


def _keep(endpoint: Endpoint, found: dict[str, Json], detail: str, ms_per_token: float | None) -> None:
    CanaryRun.objects.create(
        endpoint=endpoint,
        facts=storable(endpoint.facts),
        found=storable(found),
        detail=storable(detail[:300]),
    )
    _forget_old(endpoint)
    if not found:
        Endpoint.objects.filter(pk=endpoint.pk, state__in=ASKED_ONLY).update(canaries_wanted=False)
        breaker.failed(endpoint, detail)
        return
    here = Endpoint.objects.filter(pk=endpoint.pk, base_url=endpoint.base_url)
    red = [name for name, one in found.items() if not one["green"]]
    here.update(
        canaries=storable(found),
        canaries_of=endpoint.fingerprint,
        # Replaced, not bettered: a machine that has become slower is not held against its students.
        prompt_ms_per_token=ms_per_token,
        canaries_at=Now(),
        canaries_wanted=False,
        has_red_canary=bool(red),
        last_lab_line=endpoint.last_lab_line,
    )
    if red:
        log.error("endpoint %s: red canaries: %s", endpoint, ", ".join(red))
    if found.get("content", {}).get("green"):
        breaker.close(endpoint)
        breaker.succeeded(endpoint)
    else:
        breaker.still_wrong(endpoint, f"red canaries: {', '.join(red)}")


def _forget_old(endpoint: Endpoint) -> None:
    """Else the endpoint's admin page grows by the hour, and past a thousand form fields Django saves it no more."""
    rounds = CanaryRun.objects.filter(endpoint=endpoint)
    for newest_old in rounds.order_by("-pk").values_list("pk", flat=True)[ROUNDS_KEPT : ROUNDS_KEPT + 1]:
        rounds.filter(pk__lte=newest_old).delete()


class _Round:
    """`seen`: what the canaries themselves found of the server's speed, so far."""

    def __init__(self, endpoint: Endpoint, client: LlamaClient, control: Control) -> None:
        self._endpoint = endpoint
        self._client = client
        self.seen = ServerFacts()
        self._driver = Driver(
            client,
            emit=lambda kind, data: None,
            control=control,
            limits=LIMITS,
            facts=facts_of(endpoint),
        )

    def run(self) -> dict[str, Json]:
        """{name: {"green", "reason"}}. Raises Unanswered."""
        health = self._client.health()
        if health.state != "ok":
            raise Unanswered(health.detail)
        board = Board(self._client)
        board.look()
        if board.off:
            return {"slots": _colour(NO_SLOTS)}
        found = {}
        for name, canary in CANARIES.items():
            fault = self._fault(canary)
            found[name] = _colour(fault.reason if fault else None)
        return found

    def _fault(self, canary: Canary) -> Fault | None:
        """A red one is asked a second time: a moment's load must not pause a class."""
        for _again in range(2):
            drive = self._drive(canary)
            fault = None if drive.outcome == "disturbed" else canary.judge(drive.record)
            if drive.outcome == "recorded" and fault is None:
                return None
        if drive.outcome == "disturbed":
            raise Unanswered(drive.detail)
        return fault

    def _drive(self, canary: Canary) -> Drive:
        if not wait_idle(self._client, IDLE_LIMIT_S):
            raise Unanswered("the server's slots did not fall idle")
        line = self._endpoint.last_lab_line
        drive = self._driver.run(canary.plan, random.Random(), last_lab_line=line)  # noqa: S311  no secret
        self._endpoint.last_lab_line = drive.record.lab_line or line
        self.seen = with_speed(self.seen, drive.record.recordings.values())
        if drive.outcome not in ("recorded", "disturbed"):
            raise Unanswered(drive.detail or drive.outcome)
        return drive


def _colour(reason: Text | None) -> Json:
    return {"green": reason is None, "reason": reason.to_json() if reason else None}
