"""Every process writes what it counts into one Redis hash, so that whichever web process is asked knows them all.

Losing Redis loses no more than what was counted since a process last wrote.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from prometheus_client.core import Metric
from redis import RedisError

from labs.live.redis_writer import connect
from labs.metrics.own import BY_ROLE, EVERY

log = logging.getLogger(__name__)

KEY = "labhub:figures"
WRITE_EVERY_S = 2.0
SILENT_S = 60.0  # a process that has not written for so long is gone
EXPIRE_S = 3600

Sample = tuple[str, dict[str, str], float]


@dataclass(frozen=True, slots=True)
class Said:
    """What one process said of itself at `at_s` (wall clock)."""

    process: str
    role: str
    at_s: float
    families: list[tuple[str, str, str, list[Sample]]]  # name, help, type, samples


def name_of_this() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def said_now(role: str) -> Said:
    families = [
        (f.name, f.documentation, f.type, [(s.name, dict(s.labels), s.value) for s in f.samples])
        for registry in BY_ROLE.get(role, (EVERY,))
        for f in registry.collect()
    ]
    return Said(name_of_this(), role, time.time(), families)


class Reporter:
    """The thread that writes. One for a process, begun where its kind of process begins (`start`)."""

    def __init__(self, role: str) -> None:
        self.role = role

    def start(self) -> None:
        threading.Thread(target=self._loop, name="figures", daemon=True).start()

    def _loop(self) -> None:
        client = connect(settings.REDIS_URL)
        while True:
            try:
                write(client, said_now(self.role))
            except RedisError:
                pass  # the live path says it, and the next round tries again
            except Exception:
                log.exception("figures could not be written")
            time.sleep(WRITE_EVERY_S)


def write(client: Any, said: Said) -> None:
    """Raises RedisError."""
    pipe = client.pipeline(transaction=False)
    pipe.hset(KEY, said.process, json.dumps([said.role, said.at_s, said.families]))
    pipe.expire(KEY, EXPIRE_S)
    pipe.execute()


def read(client: Any) -> list[Said]:
    """Of the processes that live. Those that are gone are forgotten. Raises RedisError."""
    found, gone = [], []
    for process, text in client.hgetall(KEY).items():
        role, at_s, families = json.loads(text)
        if abs(time.time() - at_s) > SILENT_S:
            gone.append(process)
        else:
            found.append(Said(process.decode(), role, at_s, families))
    if gone:
        client.hdel(KEY, *gone)
    return found


def families_of(all_said: Iterable[Said]) -> Iterator[Metric]:
    """One family a name, each sample with its process."""
    merged: dict[str, Metric] = {}
    seen = Metric("labhub_process_seen_timestamp_seconds", "When a process last said something.", "gauge")
    for said in all_said:
        who = {"process": said.process, "role": said.role}
        seen.add_sample(seen.name, who, said.at_s)
        for name, help_text, kind, samples in said.families:
            family = merged.setdefault(name, Metric(name, help_text, kind))
            for sample, labels, value in samples:
                family.add_sample(sample, {**labels, **who}, value)
    yield seen
    yield from merged.values()
