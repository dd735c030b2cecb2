"""server-up, prefill and cache-reuse on the real llama-server: its counters are exact, its times prove nothing here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from labs.grading.checks import Verdict
from labs.llama.client import LlamaClient
from labs.llama.process import EmbeddedServer
from labs.steps.cache_reuse import CacheReuse
from labs.steps.examples import play
from labs.steps.prefill import Prefill
from labs.steps.server_up import ServerUp
from labs.steps.sizes import LARGE_KEYS, SMALL, small_keys
from scripts.record_host_cache import HOST_MIB, record_on
from tests.steps.real_server import RealServer

pytestmark = pytest.mark.server

PASS, OPEN = Verdict.PASS, Verdict.INCONCLUSIVE


@pytest.fixture
def server(llama_server: EmbeddedServer) -> Iterator[RealServer]:
    with LlamaClient(llama_server.base_url) as client:
        yield RealServer(client)


def test_server_up_reads_what_a_real_server_says(server: RealServer) -> None:
    step = ServerUp()
    seen = play(step, server)
    checks = step.grade(seen)
    assert {check.verdict for check in checks} == {PASS}
    props = server.client.props()
    assert checks[1].evidence["saw"]["share_tokens"] == props.n_ctx
    assert seen.run_of("look").metrics_agree is True


def test_prefill_computes_every_prompt_whole(server: RealServer) -> None:
    step = Prefill()
    seen = play(step, server)
    verdicts = {check.key: check.verdict for check in step.grade(seen)}
    # The line rests on a stopwatch, and this machine may be busy; then its checks stay open and nobody fails.
    assert set(verdicts.values()) <= {PASS, OPEN}
    assert (verdicts["guessed"], verdicts["measured"], verdicts["why"]) == (PASS, PASS, PASS)
    small, large = seen.run_of("small"), seen.run_of("large")
    counted = [small[key].figures for count in SMALL for key in small_keys(count)]
    counted += [large[key].figures for key in ("own", *LARGE_KEYS)]
    assert {figures.cache_n for figures in counted} == {0}
    none, four, own, twelve = (counted[i].prompt_n or 0 for i in (0, 3, 6, 7))
    assert none < four < own < twelve
    # What the plans declare is what they cost.
    for round_ in step.rounds[:2]:
        plan = round_.plan(seen[round_.key].challenge, seen[round_.key].answers, seen)
        assert plan is not None
        for ask in plan.asks:
            n = seen.run_of(round_.key)[ask.key].n
            assert abs(ask.about_prompt_tokens - n) <= max(0.05 * n, 6)


def test_cache_reuse_with_a_slot_that_is_really_emptied(server: RealServer) -> None:
    step = CacheReuse()
    seen = play(step, server)
    assert {check.verdict for check in step.grade(seen)} == {PASS}
    run = seen.run_of("emptied")
    assert (run.metrics_agree, run.foreign_tasks) == (True, 0)
    assert run["hit"].figures.prompt_n == 1
    assert run["after"].figures.prompt_n == run["after"].n
    plan = step.round("again").plan(seen["again"].challenge, seen["again"].answers, seen)
    assert plan is not None
    assert abs(plan.asks[0].about_prompt_tokens - seen.run_of("again")["cold"].n) <= 12


def test_the_host_memory_replay_can_be_recorded_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    run = record_on(HOST_MIB["on"], tmp_path_factory.mktemp("host"))
    assert run["a"].figures.prompt_n == run["a"].n
    assert run["a-again"].figures.prompt_n == 1
    assert run.metrics_agree is True
