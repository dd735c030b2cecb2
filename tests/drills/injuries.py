"""The faults of the drill, one function each: it begins, it lasts, it is over. Only ever to what the drill started."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import redis

from tests.drills.classroom import Classroom, wait_until
from tests.fakellama.faults import Kind
from tests.fakellama.process import FakeServer

PATIENCE_S = 30.0
SHORT_S = 3.0


@dataclass
class Scene:
    """The site and its servers; `turn` counts the times of one fault, so that servers take turns."""

    room: Classroom
    fakes: Sequence[FakeServer]
    turn: int = 0

    @property
    def fake(self) -> FakeServer:
        return self.fakes[self.turn % len(self.fakes)]

    @property
    def database(self) -> Path:
        return self.room.site.folder / "labhub.sqlite3"

    def valkey(self) -> redis.Redis:
        return redis.Redis.from_url(str(self.room.site.state["redis_url"]), socket_timeout=5)


Recovered = Callable[[Scene, float], bool]


@dataclass(frozen=True)
class Injury:
    """`is_mended(scene, began)`: what must hold again besides runs that are recorded on servers that are up; `began`
    is the wall clock's time. `slow`: the short drill leaves it out."""

    name: str
    what: str
    inflict: Callable[[Scene], None]
    is_mended: Recovered = lambda scene, began: True


def _killed(name: str) -> Callable[[Scene], None]:
    """And started again by the supervisor, which is waited for."""

    def inflict(scene: Scene) -> None:
        site = scene.room.site
        before = site.pid(name)
        site.signal(name, signal.SIGKILL)
        came = wait_until(lambda: site.pid(name) != before, PATIENCE_S, 0.05)
        assert came, f"{name} was not started again"

    return inflict


def _stopped(name: str, lasts_s: float) -> Callable[[Scene], None]:
    def inflict(scene: Scene) -> None:
        scene.room.site.signal(name, signal.SIGSTOP)
        try:
            time.sleep(lasts_s)
        finally:
            scene.room.site.signal(name, signal.SIGCONT)

    return inflict


def _flushed(scene: Scene) -> None:
    with scene.valkey() as valkey:
        valkey.flushall()


def _dies(phase: str) -> Callable[[Scene], None]:
    """The process ends inside a request, and comes back on the same port a second later."""

    def inflict(scene: Scene) -> None:
        fake = scene.fake
        fake.fault("die", phase=phase, how="exit", times=1)
        if not wait_until(lambda: not fake.is_alive, PATIENCE_S, 0.05):
            fake.faults()
            raise AssertionError(f"nothing was asked of {fake.base_url} to die in")
        time.sleep(1)
        fake.start()

    return inflict


def _cut(scene: Scene) -> None:
    _meets_one(scene.fake, "die", phase="decode", how="reset")


def _server_killed(scene: Scene) -> None:
    os.kill(scene.fake.pid, signal.SIGKILL)
    assert wait_until(lambda: not scene.fake.is_alive, PATIENCE_S, 0.05)
    time.sleep(1)
    scene.fake.start()


def _loads(scene: Scene) -> None:
    scene.fake.fault("loading")
    time.sleep(SHORT_S)
    scene.fake.faults()


def _wedged(scene: Scene) -> None:
    """Longer than the longest pause between tokens that the drill's site bears."""
    phase = ("decode", "prefill")[scene.turn // len(scene.fakes) % 2]
    _meets_one(scene.fake, "wedge", phase=phase)
    time.sleep(8)
    scene.fake.faults()


def _meets_one(fake: FakeServer, kind: Kind, **more: object) -> None:
    """Sets the fault for one chat and waits until one has met it."""
    fake.fault(kind, times=1, **more)

    def met() -> bool:
        rows = httpx.get(f"{fake.base_url}/fake/faults", timeout=5).json()
        return all(row["times"] == 0 for row in rows)

    if not wait_until(met, PATIENCE_S, 0.05):
        fake.faults()
        raise AssertionError(f"nothing was asked of {fake.base_url}")


def _locked(lasts_s: float) -> Callable[[Scene], None]:
    """Another program holds the database's write lock."""

    def inflict(scene: Scene) -> None:
        with contextlib.closing(sqlite3.connect(scene.database, timeout=20, isolation_level=None)) as held:
            held.execute("BEGIN IMMEDIATE")
            time.sleep(lasts_s)
            held.execute("ROLLBACK")

    return inflict


def _full(scene: Scene) -> None:
    """The file system of the site has no byte left. It must be one of the drill's own."""
    ballast = scene.room.site.folder.parent / "ballast"
    room = os.statvfs(ballast.parent)
    assert room.f_blocks * room.f_frsize <= SMALL_BYTES * 2, f"{ballast.parent} is not a small one of our own"
    try:
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"\0" * 65536) == 65536:
                pass
            while file.write(b"\0" * 512):
                pass
        time.sleep(SHORT_S)
    finally:
        ballast.unlink()


SMALL_BYTES = 200 * 1024 * 1024


def _web_answers(scene: Scene, began: float) -> bool:
    try:
        return httpx.get(f"{scene.room.site.url}/readyz", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def _all_probed(scene: Scene, began: float) -> bool:
    """The sweep asks for probes, the background worker makes them: both live when this holds."""
    from labs.models import Endpoint

    return all(
        one.probed_at is not None and one.probed_at.timestamp() > began for one in Endpoint.objects.all()
    )


def _pings(scene: Scene, began: float) -> bool:
    with scene.valkey() as valkey:
        try:
            return bool(valkey.ping())
        except redis.RedisError:
            return False


INJURIES = [
    Injury("driver-kill", "the driver worker gets SIGKILL", _killed("drive")),
    Injury(
        "driver-stop", "the driver worker stands still for 6 s, longer than its lease", _stopped("drive", 6)
    ),
    Injury("background-kill", "the background worker gets SIGKILL", _killed("background"), _all_probed),
    Injury("sweep-kill", "the sweep gets SIGKILL", _killed("sweep"), _all_probed),
    Injury("web-kill", "the web process gets SIGKILL", _killed("web"), _web_answers),
    Injury("web-stop", "the web process stands still for 3 s", _stopped("web", SHORT_S), _web_answers),
    Injury("valkey-flush", "FLUSHALL", _flushed, _pings),
    Injury("valkey-stop", "Valkey stands still for 3 s", _stopped("valkey", SHORT_S), _pings),
    Injury("valkey-kill", "Valkey gets SIGKILL", _killed("valkey"), _pings),
    Injury("server-dies-in-stream", "a llama-server ends in mid answer, back after 1 s", _dies("decode")),
    Injury("server-dies-in-prefill", "a llama-server ends in a prefill, back after 1 s", _dies("prefill")),
    Injury("stream-reset", "a stream is reset, its server lives", _cut),
    Injury("server-kill", "a llama-server gets SIGKILL, back after 1 s", _server_killed),
    Injury("server-loads", "a llama-server says 503 for 3 s", _loads),
    Injury("server-wedged", "a llama-server's loop stands still for 8 s, /health stays green", _wedged),
    Injury("database-locked", "somebody holds the write lock for 3 s", _locked(SHORT_S)),
    Injury("database-away", "the write lock is held for 22 s, longer than anybody waits", _locked(22)),
    Injury("disk-full", "the site's file system is full for 3 s", _full),
]


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """A file system of its own in `folder`. False where this machine does not let us mount one."""
    import subprocess

    words = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_BYTES}", "none", str(folder)]
    is_mounted = subprocess.run(words, check=False, capture_output=True).returncode == 0
    try:
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True)
