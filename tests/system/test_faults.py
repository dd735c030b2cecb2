"""Processes are killed and stopped under a real run: nothing is lost, doubled or charged, and the page is told."""

from __future__ import annotations

import re
import signal
import sqlite3
import uuid
from typing import Any

import pytest

from tests.system.site import Site, Visitor

pytestmark = [pytest.mark.server, pytest.mark.slow]

# Upper bounds only: a busy machine may take this long, a quiet one takes seconds.
PATIENCE_S = 180

PREDICT = {"first_frame_ms": "5", "first_token_ms": "700"}


def rows(site: Site, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with sqlite3.connect(f"file:{site.folder}/labhub.sqlite3?mode=ro", uri=True) as database:
        return database.execute(sql, values).fetchall()


def outcomes(site: Site, attempt: uuid.UUID) -> list[str]:
    found = rows(site, "select outcome from labs_run where attempt_id = ? order by number", attempt.hex)
    return [outcome for (outcome,) in found]


def charged(site: Site, username: str) -> int:
    ((count,),) = rows(
        site,
        "select coalesce(sum(charged), 0) from labs_attemptcount c join auth_user u on u.id = c.user_id"
        " where username = ?",
        username,
    )
    return int(count)


def streams(found: dict[str, Any]) -> bool:
    return any(event["kind"] == "tokens" for event in found["events"])


def is_over(found: dict[str, Any]) -> bool:
    return found["state"]["state"] in {"open", "graded", "cancelled", "errored"}


def begin(visitor: Visitor) -> uuid.UUID:
    """Submits the first round anew; what an earlier test left open on this site is left first."""
    page = visitor.get("/courses/demo/steps/first-token/").text
    if found := re.search(r'data-attempt="([0-9a-f-]{36})" data-state="open"', page):
        leave(visitor, uuid.UUID(found[1]))
    return visitor.submit("first-token", "predict", PREDICT)


def leave(visitor: Visitor, attempt: uuid.UUID) -> None:
    visitor.post(f"/attempts/{attempt}/cancel", {}, page=f"/attempts/{attempt}/")


def test_a_killed_driver_costs_nothing(site: Site) -> None:
    kim = site.log_in("kim")
    before = charged(site, "kim")
    attempt = begin(kim)
    kim.wait_for(attempt, streams)
    site.signal("drive", signal.SIGKILL)
    told = kim.wait_for(
        attempt, lambda found: bool(found["state"]["returned"]) or is_over(found), limit_s=PATIENCE_S
    )
    assert told["state"]["state"] in {"queued", "running", "open"}
    ended = kim.wait_for(attempt, is_over, limit_s=PATIENCE_S)
    assert ended["state"]["state"] == "open", "the round ran again by itself"
    assert outcomes(site, attempt) == ["lost", "recorded"]
    assert charged(site, "kim") == before + 1, "one attempt, charged once"
    leave(kim, attempt)


def test_a_stopped_driver_comes_back_too_late(site: Site) -> None:
    """SIGSTOP for longer than the lease: the sweep gives the attempt on, the late writer changes nothing."""
    lee = site.log_in("lee")
    attempt = begin(lee)
    lee.wait_for(attempt, streams)
    site.signal("drive", signal.SIGSTOP)
    try:
        lee.wait_for(attempt, lambda found: found["state"]["state"] == "queued", limit_s=PATIENCE_S)
    finally:
        site.signal("drive", signal.SIGCONT)
    lee.wait_for(attempt, is_over, limit_s=PATIENCE_S)
    assert outcomes(site, attempt) == ["lost", "recorded"]
    recorded = rows(
        site,
        "select count(*) from labs_storedrecording s join labs_run r on r.id = s.run_id"
        " where r.attempt_id = ? and r.outcome = 'lost'",
        attempt.hex,
    )
    assert recorded == [(0,)], "what the late writer brought was not stored"
    leave(lee, attempt)


def test_a_broker_that_is_down_at_submit_is_no_error(site: Site) -> None:
    """Stopped, not killed: connections are accepted and nothing ever answers, the worst case."""
    park = site.log_in("park")
    site.signal("valkey", signal.SIGSTOP)
    try:
        answer = park.post(
            "/courses/demo/steps/first-token/",
            {"submit_key": str(uuid.uuid4()), "round": "predict", **PREDICT},
        )
        assert answer.status_code == 302, answer.text
    finally:
        site.signal("valkey", signal.SIGCONT)
    ((key,),) = rows(
        site,
        "select a.id from labs_attempt a join auth_user u on u.id = a.user_id where username = 'park'"
        " order by created_at desc limit 1",
    )
    attempt = uuid.UUID(key)
    ended = park.wait_for(attempt, is_over, limit_s=PATIENCE_S)
    assert ended["state"]["state"] == "open"
    leave(park, attempt)


def test_a_dead_server_in_mid_stream_returns_the_attempt(site: Site) -> None:
    kim = site.log_in("kim")
    attempt = begin(kim)
    kim.wait_for(attempt, streams)
    site.signal("llama", signal.SIGKILL)
    ended = kim.wait_for(attempt, is_over, limit_s=PATIENCE_S)
    assert ended["state"]["state"] == "open"
    assert outcomes(site, attempt)[-1] == "recorded"
    leave(kim, attempt)
