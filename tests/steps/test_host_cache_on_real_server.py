"""The stored run of cache-reuse can be recorded again on a real server with a host prompt cache."""

from __future__ import annotations

import pytest

from scripts.record_host_cache import HOST_MIB, record_on

pytestmark = pytest.mark.server


def test_the_host_memory_replay_can_be_recorded_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    run = record_on(HOST_MIB["on"], tmp_path_factory.mktemp("host"))
    assert run["a"].figures.prompt_n == run["a"].n
    assert run["a-again"].figures.prompt_n == 1
    assert run.metrics_agree is True
