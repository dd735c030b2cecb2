"""`scripts/drill-hog`: every step while both cores are busy, and on servers that do not do what a step needs.

Nobody may get a wrong verdict: an inconclusive one is allowed, and how many there were is printed. A faulty server is
met twice: faulty from the start, so that its canaries can tell, and faulty only after they were green.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.drills.classroom import classroom
from tests.drills.hour import hold
from tests.fakellama.faults import Kind
from tests.fakellama.process import FakeServer
from tests.system.site import ROOT

FAULTS: dict[str, Kind] = {
    "ignores closes": "deaf",
    "keeps old prompts": "host_cache",
    "lacks /slots": "no_slots",
    "lacks /metrics": "no_metrics",
}
STEPS = (
    "server-up",
    "first-token",
    "prefill",
    "cache-reuse",
    "cache-break",
    "first-sentence",
    "barge-in",
    "voice-turn",
)


@contextlib.contextmanager
def hogs(count: int, nice: int) -> Iterator[None]:
    """Processes that only compute; they end with the block, or with this process."""
    loop = f"import os\nos.nice({nice})\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(100_000))"
    running = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(count)]
    try:
        yield
    finally:
        for hog in running:
            hog.kill()
            hog.wait()


def one(scene: str, got: argparse.Namespace) -> int:
    """One scene in a process of its own, because Django has one database a process."""
    name, _, when = scene.partition(", ")
    kind = FAULTS.get(name)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="drill-hog-")))
        fakes = (
            []
            if name == "real"
            else [FakeServer(folder / f"fake-{n}", "--scale", str(got.scale)) for n in range(got.endpoints)]
        )
        for fake in fakes:
            stack.enter_context(fake)
        room = stack.enter_context(
            classroom(folder / "site", [fake.base_url for fake in fakes], LABHUB_PAUSED_S="15")
        )

        def spoil() -> None:
            if when == "later":
                fault()
            stack.enter_context(hogs(got.hogs, got.nice))

        def fault() -> None:
            for fake in fakes:
                if kind is not None:
                    fake.fault(kind)

        if when != "later":
            fault()
        times = got.times if kind is None else 2
        if name == "real":
            times = got.real_times
        steps = [step for _ in range(max(1, times // got.students)) for step in got.steps]
        hour = hold(
            room,
            got.students,
            steps,
            random.Random(got.seed),
            got.minutes * 60 + 900,
            ready=spoil,
            until_s=got.minutes * 60,
        )
    print(f"{scene}, {got.hogs} hogs (niceness {got.nice}), {got.students} students, seed {got.seed}")
    print(hour.report(), flush=True)
    return 1 if hour.problems else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/drill-hog", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=10, help="of each scene; after them nobody begins a step"
    )
    parser.add_argument("--real-times", type=int, default=5, help="of each step on the real server")
    parser.add_argument("--times", type=int, default=100, help="of each step on the fake")
    parser.add_argument("--students", type=int, default=5)
    parser.add_argument("--endpoints", type=int, default=4, help="fake ones")
    parser.add_argument("--hogs", type=int, default=os.cpu_count() or 2)
    parser.add_argument(
        "--nice", type=int, default=0, help="of the hogs; the embedded server's is 10, so it gives way to 0"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="of the fake's time a token")
    parser.add_argument("--steps", nargs="+", default=list(STEPS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scenes", nargs="+", help="real, fake, or a fault's name with ', later' behind it")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    got = parser.parse_args()
    if got.one:
        return one(got.one, got)
    faulty = [f"{name}{when}" for name in FAULTS for when in ("", ", later")]
    bad = 0
    for scene in got.scenes or ["real", "fake", *faulty]:
        words = [word for word in sys.argv[1:] if word != "--scenes"]
        if got.scenes:
            words = [word for word in words if word not in got.scenes]
        command = [sys.executable, "-m", "tests.drills.hog", *words, "--one", scene]
        bad += subprocess.run(command, cwd=ROOT, check=False).returncode != 0
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
