from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def until(look: Callable[[], Found], timeout_s: float = 20.0) -> Found:
    """Looks until there is something to see; fails after the deadline."""
    deadline = time.monotonic() + timeout_s
    while not (found := look()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return found
