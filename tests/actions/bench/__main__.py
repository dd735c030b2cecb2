"""scripts/bench-regrade: many stored attempts graded again, twice; time, peak memory, and equal bytes."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

COURSE = "bench"
COLUMNS = "| {:<17} | {:>8} | {:>9} | {:>8} | {:<12} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=10_000)
    parser.add_argument("--students", type=int, default=600)
    parser.add_argument("--step", default="cache-break")
    parser.add_argument("--child", choices=["world", "preview", "again", "apply"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(_child(options)))
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
        print(COLUMNS.format("", "time s", "peak MiB", "rows", "bytes"))
        results = {child: _run(child, options, environ) for child in ("world", "preview", "again", "apply")}
        size_mib = (Path(name) / "bench.sqlite3").stat().st_size / 2**20
    first, second = results["preview"], results["again"]
    equal = first["sha256"] == second["sha256"] and first["digest"] == second["digest"]
    print(
        f"database {size_mib:.0f} MiB; two previews {'equal' if equal else 'DIFFER'}: {first['lines']} lines"
    )
    print(f"counts {first['counts']}; applied changed {results['apply']['changed']} students' grades")
    return 0 if equal else 1


def _run(child: str, options: argparse.Namespace, environ: dict[str, str]) -> dict[str, Any]:
    """Each in a process of its own, so that its peak is its own."""
    command = [sys.executable, "-m", "tests.actions.bench", "--child", child, "--step", options.step]
    command += ["--attempts", str(options.attempts), "--students", str(options.students)]
    done = subprocess.run(command, env=environ, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    title = {"world": "(making them)", "preview": "preview", "again": "preview again", "apply": "apply"}[
        child
    ]
    print(
        COLUMNS.format(
            title,
            f"{found['s']:.1f}",
            f"{found['peak_mib']:.0f}",
            found["rows"],
            found.get("sha256", "")[:12],
        ),
        flush=True,
    )
    return found


def _child(options: argparse.Namespace) -> dict[str, Any]:
    import django

    django.setup()
    do = {"world": _world, "preview": _preview, "again": _again, "apply": _apply}[options.child]
    started = time.monotonic()
    found = do(options)
    found.setdefault("s", time.monotonic() - started)
    found["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def _world(options: argparse.Namespace) -> dict[str, Any]:
    from django.core.management import call_command

    from tests.actions.bench.world import make_world

    call_command("migrate", verbosity=0)
    make_world(options.step, options.attempts, options.students)
    return {"rows": options.attempts}


def _again(options: argparse.Namespace) -> dict[str, Any]:
    from labs.actions.regrade.apply import cancel
    from labs.models import RegradeSet

    cancel(RegradeSet.objects.get(state=RegradeSet.State.PREVIEW), None)
    return _preview(options)


def _preview(options: argparse.Namespace) -> dict[str, Any]:
    """The first check's points go to the last: every attempt is written anew, and many lose."""
    from labs.actions.regrade.build import build, start
    from labs.actions.regrade.report import counts_of, lines_of
    from labs.models import Course
    from labs.steps import all_steps

    step = all_steps()[options.step]
    *_others, last = points = [one for one in step.all_limits() if one.unit == "points"]
    limits = {points[0].key: 0, last.key: last.default + points[0].default}
    started = time.monotonic()
    regrade = start(Course.objects.get(slug=COURSE), step, None, "bench", limits)
    if not build(regrade):
        raise RuntimeError("somebody else builds it")
    took_s = time.monotonic() - started
    digest, lines = hashlib.sha256(), 0
    for line in lines_of(regrade):
        digest.update(line.encode())
        lines += 1
    return {
        "s": took_s,
        "rows": regrade.rows.count(),
        "lines": lines,
        "sha256": digest.hexdigest(),
        "digest": regrade.digest,
        "counts": counts_of(regrade),
    }


def _apply(options: argparse.Namespace) -> dict[str, Any]:
    from labs.actions.regrade.apply import apply
    from labs.actions.regrade.report import effects_of
    from labs.models import RegradeSet

    regrade = RegradeSet.objects.get(state=RegradeSet.State.PREVIEW)
    started = time.monotonic()
    if not apply(regrade, None):
        raise RuntimeError("it was not waiting to be applied")
    took_s = time.monotonic() - started
    return {"s": took_s, "rows": regrade.events.count(), "changed": len(effects_of(regrade))}


if __name__ == "__main__":
    sys.exit(main())
