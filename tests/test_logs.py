"""Lines that can be followed from a request to a run, and that hold no key, no prompt and no name."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from celery import shared_task
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from labhub_voice import celery as wiring
from labs.actions import wake
from labs.logs import JsonLines, Plain, bound, bound_words, put_on, take_off, without_secrets
from tests.lines import Lines

PERSON = "Kim-Very-Private"


def record(message: str, *args: object, error: BaseException | None = None) -> logging.LogRecord:
    info: Any = (type(error), error, error.__traceback__) if error else None
    return logging.LogRecord("labs.x", logging.WARNING, "x.py", 1, message, args, info)


def test_a_line_is_one_object_with_the_bound_words_in_it() -> None:
    with bound(attempt=7), bound(run=2):
        line = json.loads(JsonLines().format(record("lost %s\nand more \udc80", "it")))
    assert line | {"at": ""} == {
        "at": "",
        "level": "WARNING",
        "logger": "labs.x",
        "message": "lost it\nand more \udc80",
        "attempt": "7",
        "run": "2",
    }
    assert line["at"].endswith("+00:00")
    assert bound_words() == {}


def test_people_get_the_words_behind_the_first_line() -> None:
    try:
        raise ValueError("no")
    except ValueError as error:
        failed = record("lost", error=error)
    with bound(run=2):
        text = Plain("{levelname} {message}", style="{").format(failed)
    assert text.startswith("WARNING lost [run=2]\nTraceback")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("redis://:s3cret@valkey:6379/0 is away", "redis://:[hidden]@valkey:6379/0 is away"),
        ("postgresql://labhub:s3cret@db/x", "postgresql://labhub:[hidden]@db/x"),
        ("Authorization: Bearer s3cret, and", "Authorization: Bearer [hidden], and"),
        ("{'api_key': 's3cret'}", "{'api_key': '[hidden]'}"),
        ("GET /set-password/MQ/s3cret-1/ 302", "GET /set-password/MQ/[hidden]/ 302"),
        ("Cookie: sessionid=s3cret; a=b", "Cookie: sessionid=[hidden]; a=b"),
        ("HTTP 500: cannot parse s3cret\nnext", "HTTP 500\nnext"),
        ("DETAIL: Failing row contains (s3cret)", "DETAIL: [hidden]"),
        ("run 3 of toy: 12 tokens", "run 3 of toy: 12 tokens"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out(text: str, left: str) -> None:
    assert without_secrets(text) == left
    try:
        raise RuntimeError(text)
    except RuntimeError as error:
        line = JsonLines().format(record("failed", error=error))
    said = json.loads(line)["error"].splitlines()
    assert "s3cret" not in "\n".join(one for one in said if "raise" not in one)


def test_a_request_has_an_id_in_its_answer_and_in_its_lines(client: Client, lines: Lines, db: None) -> None:
    given = client.get("/login/", headers={"x-request-id": "from-the-proxy-1"})
    assert given["X-Request-ID"] == "from-the-proxy-1"
    made = client.get("/no-such-page", headers={"x-request-id": "bad\tid"})
    assert len(made["X-Request-ID"]) == 32
    found = [line for line in lines.lines if line["logger"] == "labs.requests"]
    assert [line["request"] for line in found] == ["from-the-proxy-1", made["X-Request-ID"]]
    assert found[0]["message"].startswith("GET /login/ 200 ")
    # Django's own warning of the 404 is followed by the same id.
    assert {line["request"] for line in lines.lines if "/no-such-page" in line["message"]} == {
        made["X-Request-ID"]
    }
    client.get("/healthz")
    assert len([line for line in lines.lines if line["logger"] == "labs.requests"]) == 2


def test_a_login_that_fails_names_nobody(client: Client, lines: Lines, db: None) -> None:
    User.objects.create_user(PERSON, password="right-password")
    for _ in range(6):
        client.post(reverse("login"), {"username": PERSON, "password": "wrong-password"})
    text = lines.text
    assert "POST /login/" in text
    assert PERSON not in text
    assert "wrong-password" not in text


def test_a_wake_up_carries_whose_request_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []

    @shared_task(name="tests.logs.task")
    def task() -> None: ...

    monkeypatch.setattr(task, "apply_async", lambda **options: sent.append(options))
    with bound(request="abc"):
        assert wake.wake(task)
    assert wake.wake(task)
    assert [options["headers"] for options in sent] == [{"labhub_request": "abc"}, {}]


def test_a_task_s_lines_say_which_and_the_next_one_s_do_not() -> None:
    class Sent:
        name = "labs.tasks.drive"
        request = {"labhub_request": "abc"}

    wiring.begin_lines(Sent(), "id-1")
    assert bound_words() == {"task": "labs.tasks.drive", "task_id": "id-1", "request": "abc"}
    wiring.end_lines()
    assert bound_words() == {}
    put_on(task="x", request=None)
    assert bound_words() == {"task": "x"}
    take_off()
