"""scripts/bench-live: how long from the worker's `put` to the browser's socket, through everything in between."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.live.servers import ROOT, Daphne, Valkey


@dataclass(frozen=True)
class Scene:
    """Targets as the issue states them; None where it states none."""

    title: str
    streams: int
    sockets: int
    p50_ms: float | None
    p99_ms: float | None


SCENES = [
    Scene("1 stream, 1 socket", 1, 1, None, None),
    Scene("1 stream, 100 sockets", 1, 100, 5.0, 25.0),
    Scene("30 streams, 1 socket each", 30, 30, 2.0, 10.0),
]
WEB_CORES = 0.6
WIDTHS = (8, 8, 8, 8, 6, 7, 11, 7)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=100.0, help="tokens a second and stream")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-live-") as name:
        directory = Path(name)
        with Valkey(directory) as valkey:
            environ = {
                "LABHUB_DEMO": "1",
                "LABHUB_LOG_LEVEL": "WARNING",
                "DATABASE_URL": f"sqlite://{directory}/bench.sqlite3",
                "REDIS_URL": valkey.url,
                "DJANGO_SETTINGS_MODULE": "labhub_voice.settings",
            }
            os.environ.update(environ)
            from tests.live.bench.world import make_world

            world = make_world(max(scene.streams for scene in SCENES))
            print(
                f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
            )
            print(f"{options.seconds:g} s at {options.rate:g} tokens/s a stream\n")
            heads = ("p50 ms", "p99 ms", "max ms", "sent", "lost", "order", "web cores", "all")
            print(" " * 28 + "".join(f"{head:>{width}}" for head, width in zip(heads, WIDTHS, strict=True)))
            missed = 0
            for scene in SCENES:
                with Daphne(directory, environ) as daphne:
                    result = run(scene, world, daphne, options.seconds, options.rate)
                missed += report(scene, result)
    return 1 if missed else 0


def run(scene: Scene, world: dict[str, Any], daphne: Daphne, seconds: float, rate: float) -> dict[str, Any]:
    job = {
        "port": daphne.port,
        "cookie": world["cookie"],
        "attempts": world["attempts"][: scene.streams],
        "sockets": scene.sockets,
        "events": round(seconds * rate),
        "rate": rate,
        "run": SCENES.index(scene) + 1,
    }
    client = _start("client", job)
    assert client.stdout is not None and client.stdout.readline() == b"ready\n"
    web_s, machine_s, began_s = _cpu_s(daphne.pid), _machine_s(), time.monotonic()
    publisher = _start("publish", job)
    spent_s = float(publisher.communicate()[0])
    cores = (_cpu_s(daphne.pid) - web_s) / spent_s
    machine = (_machine_s() - machine_s) / (time.monotonic() - began_s)
    result: dict[str, Any] = json.loads(client.communicate()[0])
    return result | {"cores": cores, "machine": machine}


def report(scene: Scene, result: dict[str, Any]) -> int:
    print(
        f"{scene.title:28}{result['p50_ms']:8.2f}{result['p99_ms']:8.2f}{result['max_ms']:8.2f}"
        f"{result['expected']:8}{result['lost']:6}{result['disorder']:7}{result['cores']:11.2f}{result['machine']:7.2f}"
    )
    verdicts = [
        ("p50", result["p50_ms"], scene.p50_ms),
        ("p99", result["p99_ms"], scene.p99_ms),
        ("lost", result["lost"], 0),
        ("disorder", result["disorder"], 0),
        ("web cores", result["cores"], WEB_CORES),
    ]
    words = [
        f"{name} <= {limit:g}: {'PASS' if value <= limit else 'MISS'}"
        for name, value, limit in verdicts
        if limit is not None
    ]
    print("    " + ", ".join(words))
    return sum("MISS" in word for word in words)


def _start(module: str, job: dict[str, Any]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", f"tests.live.bench.{module}", json.dumps(job)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _machine_s() -> float:
    """Processor time of everything on this machine: tells whether others took part in the figures."""
    fields = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
