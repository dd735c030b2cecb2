"""A running attempt whose first round is recorded, its owner's session, and what a worker tells of its second run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import django

from labs.live.topics import Topic

WORDS = (
    "when ",
    "한 ",
    "voice ",
    "대답이 ",
    "assistant ",
    "시작되는 ",
    "opens ",
    "순간을 ",
    "its ",
    "잰다.\n",
)
ASKS = 5


@dataclass(frozen=True)
class World:
    cookie: tuple[str, str]
    attempt_id: str
    run_number: int
    step_path: str


def make_site() -> None:
    """Database and static files, as the settings name them."""
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)


def make_world(username: str, step_key: str) -> World:
    """`step_key` is a step of two rounds."""
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.test import Client
    from django.urls import reverse

    from labs.models import Course, Enrolment, Run, State
    from tests.views.rows import attempt_in

    course, _ = Course.objects.get_or_create(slug="voice", defaults={"title": "Voice lab", "language": "en"})
    owner = User.objects.create_user(username)
    Enrolment.objects.create(user=owner, course=course)
    attempt = attempt_in(State.RUNNING, owner, course, step_key=step_key)
    newest = attempt.rounds.last()
    assert newest is not None and newest.accepted_run is not None
    # Its second round runs now: the page has nothing of it but the stream.
    newest.accepted_run.recordings.all().delete()
    Run.objects.filter(pk=newest.accepted_run.pk).update(outcome=Run.Outcome.NONE)
    newest.accepted_run = None
    newest.save()
    client = Client()
    client.force_login(owner, "django.contrib.auth.backends.ModelBackend")
    name = settings.SESSION_COOKIE_NAME
    path = reverse("step", args=[course.slug, step_key])
    return World((name, client.cookies[name].value), str(attempt.pk), newest.number, path)


def publish(topic: Topic, seconds: float, rate: float) -> list[list[str]]:
    """A run of five requests, one after another, at an even pace. The tokens it told, by request."""
    each = round(seconds * rate / ASKS)
    said: list[list[str]] = []
    for ask in range(ASKS):
        said.append([])
        for kind, data in told(f"ask-{ask}", each, rate):
            topic.put(kind, data)
            if kind == "tokens":
                said[-1].append(data["text"])
    assert topic.flush()
    return said


def told(key: str, tokens: int, rate: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of one request, each when it is due."""
    yield "ask", {"key": key, "title": {"msgid": "Ask"}, "n": 300, "max_tokens": tokens, "slot": 0}
    yield "progress", {"key": key, "at_us": 4_000, "processed": 128, "total": 300, "cache": 0}
    began_s = time.monotonic()
    for number in range(tokens):
        if (wait_s := began_s + number / rate - time.monotonic()) > 0:
            time.sleep(wait_s)
        at_us = round(number / rate * 1e6) + 10_000
        if number == 0:
            yield "first_token", {"key": key, "ttft_us": at_us}
        text = WORDS[number % len(WORDS)]
        yield "tokens", {"key": key, "at_us": at_us, "text": text}
        if number == len(WORDS):
            yield "first_sentence", {"key": key, "at_us": at_us, "text": "".join(WORDS)}
    figures = {"ttft_us": 10_000, "cache_n": 0, "prompt_n": 300, "predicted_n": tokens, "prompt_ms": 9.0}
    yield "recorded", {"key": key, "end": "done", "first_sentence_us": 100_000, **figures}


def grade(world: World) -> None:
    """Ends the attempt with its example's recordings, as a worker would."""
    from labs.actions.grade import record_grade
    from labs.models import Attempt, State
    from labs.steps import all_steps
    from tests.views.rows import example, stored

    attempt = Attempt.objects.get(pk=world.attempt_id)
    step = all_steps()[attempt.step]
    seen = example(step)
    newest = attempt.rounds.get(number=len(seen))
    attempt.runs.filter(round=newest).delete()
    record = seen[newest.key].run
    assert record is not None
    newest.accepted_run = stored(attempt, newest, newest.number, record)
    newest.save()
    record_grade(attempt, step, step.grade(seen))
    Attempt.objects.filter(pk=attempt.pk).update(state=State.GRADED, version=attempt.version + 1)
