"""Every process of the topology is ended politely and started anew, one after another, while the class goes on. The
database only where it is named: it crashes, and whoever asks meanwhile gets an error."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass

from scripts.supervisor.identity import Identity, identify
from tests.system.cluster import Cluster

END_LIMIT_S = 120.0
BACK_LIMIT_S = 60.0
LOOK_S = 0.1
# What a worker or the sweep needs from its start to its first question to the database: nothing outside tells.
LOADING_S = 4.0
APART_S = 2.0


@dataclass(frozen=True, slots=True)
class Restart:
    """Seconds from SIGTERM until the old process was gone, and until the new one was at work; the database: until
    every connection to it was gone, and until every web process was ready again."""

    name: str
    ended_s: float
    back_s: float


def order(names: Sequence[str]) -> list[str]:
    """The web one at a time, then the workers, the rest, Valkey, and the database last. The servers and the proxy
    stay."""
    ranks = ("web", "drive", "background", "sweep", "valkey", "postgres")
    found = [(ranks.index(name.partition("-")[0]), name) for name in names if name.partition("-")[0] in ranks]
    return [name for _rank, name in sorted(found)]


async def restart(cluster: Cluster, name: str) -> Restart:
    """Raises AssertionError where it does not end, or does not come back."""
    if name == "postgres":
        return await crash_postgres(cluster)
    old = identify(cluster.pid(name))
    assert old is not None, f"{name} does not run"
    began = time.monotonic()
    cluster.signal(name, signal.SIGTERM)
    while old.is_alive():
        assert time.monotonic() - began < END_LIMIT_S, f"{name} does not end"
        await asyncio.sleep(LOOK_S)
    ended_s = time.monotonic() - began
    while cluster.pid(name) == old.pid or not await asyncio.to_thread(
        _is_at_work, cluster, name, began + ended_s
    ):
        assert time.monotonic() - began - ended_s < BACK_LIMIT_S, f"{name} does not come back"
        await asyncio.sleep(LOOK_S)
    found = Restart(name, ended_s, time.monotonic() - began)
    await asyncio.sleep(APART_S)
    return found


async def crash_postgres(cluster: Cluster) -> Restart:
    """One of its backends dies, as of a fault or for lack of memory: then all are ended and its log is played again."""
    sessions = _sessions(cluster.pid("postgres"))
    assert sessions, "nobody asks the database"
    began = time.monotonic()
    os.kill(sessions[0].pid, signal.SIGKILL)
    while any(one.is_alive() for one in sessions):
        assert time.monotonic() - began < END_LIMIT_S, "its sessions do not end"
        await asyncio.sleep(LOOK_S)
    ended_s = time.monotonic() - began
    for url in cluster.state["web_urls"]:
        while not await asyncio.to_thread(_answers, f"{url}readyz"):
            assert time.monotonic() - began - ended_s < BACK_LIMIT_S, "the database does not come back"
            await asyncio.sleep(LOOK_S)
    found = Restart("postgres", ended_s, time.monotonic() - began)
    await asyncio.sleep(APART_S)
    return found


def _sessions(postmaster: int) -> list[Identity]:
    """Its children that serve a client: their titles name its address."""
    found = subprocess.run(
        ["pgrep", "-P", str(postmaster), "-f", r"127\.0\.0\.1"], capture_output=True, text=True, check=False
    )
    return [one for pid in found.stdout.split() if (one := identify(int(pid))) is not None]


def _is_at_work(cluster: Cluster, name: str, ended: float) -> bool:
    kind, _, number = name.partition("-")
    if kind == "web":
        return _answers(f"{cluster.state['web_urls'][int(number) - 1]}readyz")
    if kind == "valkey":
        return True
    return time.monotonic() - ended > LOADING_S


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as said:
            return bool(said.status == 200)
    except (urllib.error.URLError, OSError):
        return False
