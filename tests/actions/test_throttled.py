"""A run that a CPU quota stopped, through the engine and on its page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

import labs.actions.execute as execute_module
from labs.actions.execute import drive_all
from labs.live import topics
from labs.measure.quota import Quota
from labs.models import Attempt, Course, Endpoint, GradeEvent, Run, State
from labs.text import Json
from tests.actions.conftest import Submit
from tests.actions.rows import fresh
from tests.measure.scripted import ScriptedLlama
from tests.views.rows import attempt_in

STOPPED = {"run_us": 1_000_000, "server": {"periods": 9, "stopped_us": 400_000}}


class Stopped(Quota):
    """The first run of the process is stopped, the others are not."""

    runs = 0

    def end(self) -> Json:
        Stopped.runs += 1
        return STOPPED if Stopped.runs == 1 else {"run_us": 1_000_000}


@pytest.fixture
def stopping(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.LABHUB_CANCEL_POLL_S = 0.02
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    Stopped.runs = 0
    monkeypatch.setattr(execute_module, "Quota", Stopped)
    monkeypatch.setattr("labs.live.topics.Topic.finish", lambda topic: True)  # it would wait for Redis
    topics.publisher.cache_clear()
    yield
    topics.publisher.cache_clear()
    execute_module._client.cache_clear()


@pytest.mark.django_db(transaction=True)
def test_it_is_kept_with_its_evidence_and_repeated(kim: User, post: Submit, stopping: None) -> None:
    with ScriptedLlama() as llama:
        Endpoint.objects.create(name="a", base_url=llama.url, state=Endpoint.State.UP)
        attempt = post(kim)
        assert drive_all() == 1
        assert fresh(attempt).state == State.QUEUED
        assert not GradeEvent.objects.exists()
        Attempt.objects.update(not_before=None)
        assert drive_all() == 1
    first, second = attempt.runs.all()
    assert (first.outcome, first.reason, first.facts["throttled"]) == ("disturbed", "slot_disturbed", STOPPED)
    assert "CPU quota" in first.detail
    assert (second.outcome, second.facts["throttled"]) == ("recorded", {"run_us": 1_000_000})
    accepted = attempt.rounds.get().accepted_run
    assert accepted == second


@pytest.mark.django_db
def test_the_page_says_for_how_long(owner: User, course: Course, client: Client) -> None:
    attempt = attempt_in(State.GRADED, owner, course)
    client.force_login(owner)
    where = reverse("attempt", args=[attempt.pk])
    headers = {"accept-language": "en"}
    assert "CPU limit stopped" not in client.get(where, headers=headers).content.decode()
    run = Run.objects.order_by("pk")[0]
    run.facts["throttled"] = STOPPED
    run.save()
    page = client.get(where, headers=headers).content.decode()
    assert "CPU limit stopped the model server in 9 periods, for 400" in page
