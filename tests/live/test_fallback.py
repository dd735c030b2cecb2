"""The same events over HTTP, for a page whose socket is down."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from labs.live.topics import Publisher
from labs.models import Attempt, State
from tests.live.servers import Valkey, free_port

LogIn = Callable[[User], Client]


def poll(client: Client, attempt: Attempt, after: str = "") -> dict[str, Any]:
    response = client.get(reverse("attempt-events", args=[attempt.pk]), {"after": after})
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    answer: dict[str, Any] = response.json()
    return answer


def test_polling_from_answer_to_answer_gives_every_event_once(
    valkey: Valkey, attempt: Attempt, owner: User, log_in: LogIn
) -> None:
    client = log_in(owner)
    topic = Publisher(valkey.url).topic(attempt.pk, 1)
    for number in range(2500):
        topic.put("tokens", {"text": f"{number}"})
    assert topic.finish(10)
    after, texts, polls = "", [], 0
    while (answer := poll(client, attempt, after))["after"] != after:
        assert answer["complete"]
        assert answer["state"]["state"] == "running"
        texts += [event["text"] for event in answer["events"]]
        after, polls = answer["after"], polls + 1
    assert texts == [f"{number}" for number in range(2500)]
    assert (after, polls) == ("1.2501", 3)


def test_what_is_missing_is_named(valkey: Valkey, attempt: Attempt, owner: User, log_in: LogIn) -> None:
    topic = Publisher(valkey.url).topic(attempt.pk, 1)
    topic.put("started", {})
    assert topic.flush()
    with valkey.client() as redis:
        redis.flushall()
    topic.put("tokens", {"text": "x"})
    assert topic.flush()
    answer = poll(log_in(owner), attempt)
    assert answer["complete"] is False
    reset, tokens = answer["events"]
    assert reset == {"kind": "reset", "from": "1.1", "to": "1.1"}
    assert tokens | {"id": "1.2", "kind": "tokens", "text": "x"} == tokens


def test_without_redis_the_state_still_comes_and_soon(
    attempt: Attempt, owner: User, log_in: LogIn, settings: Settings
) -> None:
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    Attempt.objects.filter(pk=attempt.pk).update(state=State.GRADED, version=3)
    answer = poll(log_in(owner), attempt, "1.7")
    assert (answer["state"]["state"], answer["state"]["version"]) == ("graded", 3)
    assert (answer["events"], answer["complete"], answer["after"]) == ([], False, "1.7")


def test_a_frozen_redis_holds_the_answer_up_for_its_timeout_only(
    own_valkey: Valkey, attempt: Attempt, owner: User, log_in: LogIn, settings: Settings
) -> None:
    settings.REDIS_URL = own_valkey.url
    client = log_in(owner)
    own_valkey.freeze()
    began_s = time.monotonic()
    assert poll(client, attempt)["complete"] is False
    assert time.monotonic() - began_s < 5
    own_valkey.thaw()


def test_outsiders_and_the_logged_out_get_nothing(
    valkey: Valkey, attempt: Attempt, outsider: User, owner: User, log_in: LogIn
) -> None:
    url = reverse("attempt-events", args=[attempt.pk])
    assert Client().get(url).status_code == 401
    missing = log_in(owner).get(reverse("attempt-events", args=[uuid.uuid4()]))
    denied = log_in(outsider).get(url)
    assert (
        (denied.status_code, denied.content)
        == (missing.status_code, missing.content)
        == (404, missing.content)
    )
    assert log_in(owner).post(url).status_code == 405
