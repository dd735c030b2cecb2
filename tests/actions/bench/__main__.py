"""scripts/bench-regrade: many stored attempts graded again; time, peak memory, equal bytes, and what a kill leaves."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

COURSE = "bench"
COLUMNS = "| {:<18} | {:>7} | {:>8} | {:>6} | {:<12} | {:<12} |"
# Each is a process of its own, in this order, on one database.
SCENES = {
    "world": "(making them)",
    "preview": "preview",
    "again": "preview again",
    "half": "killed half-way",
    "rest": "... the rest of it",
    "broken": "killed in apply",
    "apply": "apply",
}
KILLED = {"half", "broken"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=10_000)
    parser.add_argument("--students", type=int, default=600)
    parser.add_argument("--step", default="cache-break")
    parser.add_argument("--scene", choices=list(SCENES), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.scene:
        _say(_scene(options))
        return 0
    with tempfile.TemporaryDirectory(prefix="bench-regrade-") as name:
        environ = os.environ | {
            "LABHUB_DEMO": "1",
            "LABHUB_LOG_LEVEL": "ERROR",
            "LABHUB_STATE_DIR": name,
            "DATABASE_URL": f"sqlite://{name}/bench.sqlite3",
            "DJANGO_SETTINGS_MODULE": "labhub_voice.settings",
        }
        print(
            f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, "
            f"{options.attempts} attempts of {options.step} by {options.students} students"
        )
        print(COLUMNS.format("", "time s", "peak MiB", "rows", "their bytes", "the grades"))
        found = {scene: _run(scene, options, environ) for scene in SCENES}
        size_mib = (Path(name) / "bench.sqlite3").stat().st_size / 2**20
    print(f"database {size_mib:.0f} MiB; {found['preview']['counts']}; applied: {found['apply']['effects']}")
    equal = len({found[scene]["bytes"] for scene in ("preview", "again", "rest")}) == 1
    unharmed = len({found[scene]["grades_before"] for scene in ("preview", "again", "rest", "apply")}) == 1
    print(f"three previews, one killed half-way: {'equal bytes' if equal else 'THEY DIFFER'}")
    print(f"grades after previews and kills: {'as they were' if unharmed else 'CHANGED'}")
    return 0 if equal and unharmed else 1


def _run(scene: str, options: argparse.Namespace, environ: dict[str, str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.actions.bench", "--scene", scene, "--step", options.step]
    command += ["--attempts", str(options.attempts), "--students", str(options.students)]
    done = subprocess.run(command, env=environ, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode != (-signal.SIGKILL if scene in KILLED else 0):
        raise RuntimeError(f"{scene} ended with {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    cells = (f"{found['s']:.1f}", f"{found['peak_mib']:.0f}", found["rows"])
    print(
        COLUMNS.format(SCENES[scene], *cells, found.get("bytes", "")[:12], found.get("grades", "")[:12]),
        flush=True,
    )
    return found


def _scene(options: argparse.Namespace) -> dict[str, Any]:
    import django

    django.setup()
    scenes: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
        "world": _world,
        "preview": _preview,
        "again": _again,
        "half": _half,
        "rest": _rest,
        "broken": _broken,
        "apply": _apply,
    }
    before = "" if options.scene == "world" else _grades()
    found = scenes[options.scene](options)
    return found | {"grades_before": before, "grades": _grades()}


def _say(found: dict[str, Any]) -> None:
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found | {"peak_mib": peak_mib}), flush=True)


def _die(found: dict[str, Any]) -> NoReturn:
    _say(found)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("killed")


def _grades() -> str:
    """A hash over all that a student's points are made of."""
    from labs.models import Grade, GradeEvent, StepLimits

    digest = hashlib.sha256()
    for rows in (GradeEvent.objects.order_by("pk"), Grade.objects.order_by("pk"), StepLimits.objects.all()):
        for row in rows.values_list().iterator():
            digest.update(repr(row).encode())
    return digest.hexdigest()


def _world(options: argparse.Namespace) -> dict[str, Any]:
    from django.core.management import call_command

    from tests.actions.bench.world import make_world

    started = time.monotonic()
    call_command("migrate", verbosity=0)
    make_world(options.step, options.attempts, options.students)
    return {"s": time.monotonic() - started, "rows": options.attempts}


def _start(options: argparse.Namespace) -> Any:
    """Two points of the dearest check go to the cheapest: every attempt is written anew, and some students lose."""
    from labs.actions.regrade.build import start
    from labs.models import Course
    from labs.steps import all_steps

    step = all_steps()[options.step]
    points = sorted(
        (one for one in step.all_limits() if one.unit == "points"), key=lambda one: (one.default, one.key)
    )
    cheapest, dearest = points[0], points[-1]
    limits = {cheapest.key: cheapest.default + 2, dearest.key: dearest.default - 2}
    return start(Course.objects.get(slug=COURSE), step, None, "bench", limits)


def _preview(options: argparse.Namespace) -> dict[str, Any]:
    return _built(_start(options))


def _again(options: argparse.Namespace) -> dict[str, Any]:
    _cancel_open()
    return _preview(options)


def _half(options: argparse.Namespace) -> dict[str, Any]:
    from labs.actions.regrade.build import CHUNK, build

    _cancel_open()
    started, regrade = time.monotonic(), _start(options)
    build(regrade, chunks=options.attempts // CHUNK // 2)
    _die({"s": time.monotonic() - started, "rows": regrade.rows.count()})


def _rest(options: argparse.Namespace) -> dict[str, Any]:
    from labs.models import RegradeSet

    return _built(RegradeSet.objects.get(state=RegradeSet.State.BUILDING))


def _broken(options: argparse.Namespace) -> dict[str, Any]:
    """Dies inside the transaction, with half of the events written."""
    from labs.actions.regrade import apply as applying

    regrade, append, started, rows = _open(), applying._append, time.monotonic(), 0

    def dying(regrade: Any, chunk: list[Any]) -> None:
        nonlocal rows
        append(regrade, chunk)
        rows += len(chunk)
        if rows * 2 >= options.attempts:
            _die({"s": time.monotonic() - started, "rows": rows})

    applying._append = dying
    applying.apply(regrade, None)
    raise RuntimeError("it should have died")


def _apply(options: argparse.Namespace) -> dict[str, Any]:
    from labs.actions.regrade.apply import apply
    from labs.actions.regrade.report import effects_of

    regrade, started = _open(), time.monotonic()
    if not apply(regrade, None):
        raise RuntimeError("it was not waiting to be applied")
    took_s, effects = time.monotonic() - started, effects_of(regrade)
    lose = sum(effect.loses for effect in effects)
    return {
        "s": took_s,
        "rows": regrade.events.count(),
        "effects": f"{lose} students lose, {len(effects) - lose} gain",
    }


def _built(regrade: Any) -> dict[str, Any]:
    from labs.actions.regrade.build import build
    from labs.actions.regrade.report import counts_of, lines_of

    started = time.monotonic()
    if not build(regrade):
        raise RuntimeError("somebody else builds it")
    took_s = time.monotonic() - started
    text = "\n".join(lines_of(regrade))
    return {
        "s": took_s,
        "rows": regrade.rows.count(),
        "bytes": hashlib.sha256(text.encode()).hexdigest(),
        "counts": counts_of(regrade),
    }


def _open() -> Any:
    from labs.models import RegradeSet

    return RegradeSet.objects.get(state=RegradeSet.State.PREVIEW)


def _cancel_open() -> None:
    from labs.actions.regrade.apply import cancel

    cancel(_open(), None)


if __name__ == "__main__":
    sys.exit(main())
