"""Execute claims: drive the plan on the leased endpoint, publish what happens, finish. No transaction stays open."""

from __future__ import annotations

import logging
import os
import random
import socket
import time
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path

from django.conf import settings
from django.db import close_old_connections

from labs.actions import breaker
from labs.actions.canaries import claim_canaries, run_canaries, want_after_doubts
from labs.actions.claim import Claim, claim_next
from labs.actions.finish import endpoint_is, finish, put_back
from labs.actions.probe import STATES
from labs.actions.speed import facts_of, learn
from labs.actions.watch import Watch
from labs.clients import Reach, client_for, reach_of
from labs.live.topics import publisher
from labs.llama.client import LlamaClient
from labs.llama.stream import Limits
from labs.logs import bound
from labs.measure.board import wait_idle
from labs.measure.control import Control
from labs.measure.drive import Driver
from labs.measure.outcome import Drive
from labs.measure.plan import Plan
from labs.measure.quota import Quota, groups_near
from labs.measure.recording import RunRecord
from labs.metrics.runs import count_run
from labs.models import Endpoint, Reason

log = logging.getLogger(__name__)

WORKER = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
IDLE_LIMIT_S = 15
NOT_IDLE = "the server's slots did not fall idle"
SERVER_AT_FAULT = {
    Reason.ENDPOINT_DOWN,
    Reason.FIRST_TOKEN_TIMEOUT,
    Reason.IDLE_TIMEOUT,
    Reason.BAD_STREAM,
}


@cache
def _watch() -> Watch:
    return Watch(WORKER)


@cache
def _client(reach: Reach) -> LlamaClient:
    """Kept for the life of the process: building one inside the stopwatch would cost 34 ms a request."""
    return client_for(reach)


def drive_all(stopping: Callable[[], bool] = lambda: False) -> int:
    """Claims and executes until nothing is left to claim, or `stopping`. Returns how many runs it executed."""
    done = 0
    try:
        while not stopping():
            if held := claim_canaries(WORKER):
                with _watch().over(held) as control:
                    run_canaries(held, _client(reach_of(held.endpoint)), control)
            elif claim := claim_next(WORKER):
                execute(claim)
                done += 1
            else:
                break
    finally:
        close_old_connections()
    return done


def execute(claim: Claim) -> None:
    """One run from claim to finish. Whatever happens, the attempt ends in a right state or the sweep finds it."""
    words = {
        "attempt": claim.attempt.pk,
        "run": claim.run.number,
        "worker": WORKER,
        "endpoint": claim.endpoint.name,
    }
    with bound(**words):
        _execute(claim)


def _execute(claim: Claim) -> None:
    leased_ns = time.perf_counter_ns()
    log.info("run begins")
    with _watch().over(claim) as control:
        topic = publisher().topic(claim.attempt.pk, claim.run.number)
        try:
            client = _client(reach_of(claim.endpoint))
            if (away := not_ready(client, claim.endpoint, control)) is not None:
                put_back(claim, away)
                return
            driver = Driver(
                client,
                emit=topic.put,
                control=control,
                limits=Limits(settings.LABHUB_FIRST_TOKEN_S, settings.LABHUB_IDLE_S, settings.LABHUB_TOTAL_S),
                facts=facts_of(claim.endpoint),
                log=Path(claim.endpoint.log_path) if claim.endpoint.log_path else None,
                quota=Quota(groups_near(claim.endpoint.base_url)),
            )
            plan = Plan.from_json(claim.round.plan or {})
            rng = random.Random()  # noqa: S311  no secret
            drive = driver.run(plan, rng, last_lab_line=claim.endpoint.last_lab_line, since_ns=leased_ns)
        except Exception as error:  # a fault of ours: kept for the log, repeated, never charged
            log.exception("run %s of %s failed in the driver", claim.run.number, claim.attempt)
            drive = Drive(
                record=RunRecord(recordings={}),
                outcome="errored",
                reason="worker_lost",
                detail=repr(error),
            )
        finally:
            close_old_connections()
        if drive.reason == Reason.ENDPOINT_DOWN.value:
            endpoint_is(claim.endpoint, Endpoint.State.DOWN, drive.detail)
        finish(claim, drive)
        learn(claim.endpoint, drive.record.server)
        _judge_endpoint(claim.endpoint, drive)
    topic.finish()
    log.info("run ends: %s %s", drive.outcome, drive.reason or "as planned")
    count_run(claim.run.pk, drive.record)


def _judge_endpoint(endpoint: Endpoint, drive: Drive) -> None:
    """Never of a stop, nor of a fault of ours."""
    if drive.reason in SERVER_AT_FAULT or drive.server_broke:
        breaker.failed(endpoint, f"{drive.reason} {drive.detail}")
    elif drive.outcome == "recorded":
        breaker.succeeded(endpoint)
    want_after_doubts(endpoint)


def not_ready(client: LlamaClient, endpoint: Endpoint, control: Control) -> str | None:
    """Why nothing can be sent now, or None, also after a Stop: the driver then ends the run by itself. What is wrong
    with the endpoint is stored, so no other claims it."""
    health = client.health()
    if health.state != "ok":
        endpoint_is(endpoint, STATES.get(health.state, Endpoint.State.DOWN), health.detail)
        return health.detail
    if not wait_idle(client, IDLE_LIMIT_S, control) and control.stopped is None:
        breaker.failed(endpoint, NOT_IDLE)
        return NOT_IDLE
    return None
