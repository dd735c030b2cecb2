"""What tests of several packages share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from labs.llama.process import EmbeddedServer
from tests.live.servers import Valkey


@pytest.fixture(scope="session")
def llama_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """One real llama-server for the whole session: the small model, 2 slots, the lab's flags."""
    with EmbeddedServer(tmp_path_factory.mktemp("llama")) as server:
        yield server


@pytest.fixture(scope="session")
def valkey_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    with Valkey(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture
def valkey(valkey_server: Valkey, settings: Settings) -> Valkey:
    """A real Valkey, empty, and the one that REDIS_URL names."""
    with valkey_server.client() as client:
        client.flushall()
    settings.REDIS_URL = valkey_server.url
    return valkey_server
