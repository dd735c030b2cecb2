from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.system.site import Site

# What a drill waits for happens in seconds here, in half a minute as shipped.
QUICK = {"LABHUB_BEAT_S": "1", "LABHUB_LEASE_S": "4", "LABHUB_SWEEP_S": "1"}


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One site for all system and browser tests; each uses its own student or waits for its turn."""
    running = Site(tmp_path_factory.mktemp("site"), QUICK)
    try:
        running.start()
        yield running
    finally:
        running.stop()
