"""How fast an endpoint reads: its canaries find it, runs better it, and plans guess by it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

import labs.actions.execute as execute_module
from labs.actions import canaries
from labs.actions.canaries import claim_canaries, run_canaries
from labs.actions.endpoint import forget_findings
from labs.actions.execute import drive_all
from labs.actions.speed import facts_of, learn, ms_per_token
from labs.grading.canaries import CANARIES
from labs.llama.client import LlamaClient
from labs.measure.control import Control
from labs.measure.recording import ServerFacts
from labs.models import Endpoint, Run
from tests.actions.conftest import Submit
from tests.live.servers import Valkey
from tests.measure.scripted import ScriptedLlama

KNOWN = ServerFacts(model="m", batch=128)


def known(endpoint: Endpoint) -> float | None:
    endpoint.refresh_from_db()
    return ms_per_token(endpoint)


@pytest.fixture
def tried(endpoint: Endpoint) -> Endpoint:
    """Its canaries have found 4.5 ms a token."""
    Endpoint.objects.update(
        fingerprint="f1", canaries_of="f1", prompt_ms_per_token=4.5, facts=KNOWN.to_json()
    )
    endpoint.refresh_from_db()
    return endpoint


def test_a_run_that_was_faster_is_the_new_minimum_and_a_slower_one_is_noise(tried: Endpoint) -> None:
    learn(tried, ServerFacts(prompt_ms_per_token=9.0))
    assert known(tried) == 4.5
    learn(tried, ServerFacts(prompt_ms_per_token=3.2))
    assert known(tried) == 3.2
    learn(tried, ServerFacts())
    assert known(tried) == 3.2


def test_it_is_part_of_what_a_run_knows_beforehand(tried: Endpoint) -> None:
    assert (facts_of(tried).prompt_ms_per_token, facts_of(tried).batch) == (4.5, 128)


def test_another_server_has_another_speed(tried: Endpoint) -> None:
    Endpoint.objects.update(fingerprint="f2")
    assert known(tried) is facts_of(tried).prompt_ms_per_token is None
    learn(Endpoint(pk=tried.pk, fingerprint="f1"), ServerFacts(prompt_ms_per_token=1.0))
    assert Endpoint.objects.get().prompt_ms_per_token == 4.5, "a run on the one before says nothing of this"
    forget_findings(tried)
    tried.save()
    assert Endpoint.objects.get().prompt_ms_per_token is None


@pytest.mark.django_db(transaction=True)
class TestOnAServer:
    @pytest.fixture
    def endpoint(self, llama: ScriptedLlama) -> Iterator[Endpoint]:
        yield Endpoint.objects.create(
            name="a", base_url=llama.url, state=Endpoint.State.UP, fingerprint="f1", canaries_of="f0"
        )
        execute_module._client.cache_clear()

    def test_the_canaries_find_it_and_find_it_anew(
        self, endpoint: Endpoint, llama: ScriptedLlama, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(canaries, "CANARIES", {"content": CANARIES["content"]})
        Endpoint.objects.update(prompt_ms_per_token=0.000_1)
        assert known(endpoint) is None
        held = claim_canaries("w")
        assert held is not None
        with LlamaClient(llama.url) as client:
            run_canaries(held, client, Control())
        # One cold prompt, of which the server says that it took 1 ms; what it was thought to be before is forgotten.
        assert known(endpoint) == pytest.approx(1 / llama.prompt_tokens, abs=0.000_06)

    def test_a_run_carries_it_and_betters_it(
        self, kim: User, post: Submit, endpoint: Endpoint, valkey: Valkey, settings: Settings
    ) -> None:
        settings.LABHUB_CANCEL_POLL_S = 0.02
        Endpoint.objects.update(canaries_of="f1", prompt_ms_per_token=4.5)
        post(kim, say="a" * 200)
        assert drive_all() == 1
        run = Run.objects.get()
        assert run.outcome == Run.Outcome.RECORDED
        bettered = known(endpoint)
        assert bettered is not None
        assert 0 < bettered < 0.006
        assert run.facts["server"]["prompt_ms_per_token"] == bettered
