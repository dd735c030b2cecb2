"""Running plans in tests, and waiting with a deadline."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from labs.llama.client import LlamaClient
from labs.llama.stream import Limits
from labs.measure.control import Control
from labs.measure.drive import Driver
from labs.measure.outcome import Drive
from labs.measure.plan import Plan
from labs.measure.recording import ServerFacts

LIMITS = Limits(first_token_s=120, idle_s=60, total_s=300)
FACTS = ServerFacts(batch=128, prompt_ms_per_token=4.5)
Event = tuple[str, dict[str, Any]]


def user(text: str) -> tuple[dict[str, str], ...]:
    return ({"role": "user", "content": text},)


def drive(
    url: str,
    plan: Plan,
    *,
    control: Control | None = None,
    limits: Limits = LIMITS,
    events: list[Event] | None = None,
    log: Path | None = None,
    seed: int | None = None,
) -> Drive:
    """Runs the plan as a worker would: after a round trip through JSON."""
    sink: list[Event] = [] if events is None else events
    with LlamaClient(url) as client:
        driver = Driver(
            client,
            emit=lambda kind, data: sink.append((kind, data)),
            control=control or Control(),
            limits=limits,
            facts=FACTS,
            log=log,
        )
        return driver.run(Plan.from_json(plan.to_json()), random.Random(seed))


class Background:
    """A drive in a thread of its own, so that the test can do something to it."""

    def __init__(self, url: str, plan: Plan, control: Control | None = None) -> None:
        self.control = control or Control()
        self.events: list[Event] = []
        self._found: list[Drive] = []
        self._thread = threading.Thread(
            target=lambda: self._found.append(drive(url, plan, control=self.control, events=self.events)),
            daemon=True,
        )
        self._thread.start()

    def wait_for(self, kind: str, **wanted: object) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            return next(
                (data for k, data in list(self.events) if k == kind and wanted.items() <= data.items()), None
            )

        return wait_until(found)

    def result(self, limit_s: float = 20.0) -> Drive:
        self._thread.join(limit_s)
        assert not self._thread.is_alive(), "the driver did not end"
        return self._found[0]


T = TypeVar("T")


def wait_until(look: Callable[[], T | None], limit_s: float = 20.0) -> T:
    until_s = time.monotonic() + limit_s
    while time.monotonic() < until_s:
        if found := look():
            return found
        time.sleep(0.005)
    raise AssertionError("it did not happen in time")
