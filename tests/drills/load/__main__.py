"""`scripts/load`: starts the topology, lets a class of hundreds work on it, and prints what it saw as Markdown.

Ends by itself, with 1 where a target was missed. `--restart` ends and starts every process meanwhile; `--grow` tries
one, two and four workers with as many endpoints.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from scripts.cluster import places
from tests.drills.load import people
from tests.drills.load.crowd import Plan, hold
from tests.drills.load.report import Result
from tests.system.cluster import Cluster

STEPS = ("first-token", "cache-break", "barge-in")
GROWTH = (1, 2, 4)
# A class is not there in one second.
LONGEST_RAMP_S = 120.0


def main() -> int:
    got = _parser().parse_args()
    if got.grow:
        return _grow(got)
    result = _load(got)
    if got.json:
        print(json.dumps(result.figures()))
    else:
        print(result.markdown())
    return 0 if all(good for _what, _figures, good in result.judge()) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/load", description=__doc__)
    parser.add_argument("--students", type=int, default=300)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--think-s", type=float, nargs=2, default=(20.0, 90.0), metavar=("LOW", "HIGH"))
    parser.add_argument("--logins", type=int, default=30, help="of the students; the others have a session")
    parser.add_argument("--steps", nargs="+", default=list(STEPS))
    parser.add_argument(
        "--ramp-s", type=float, help="within this time everybody comes; two minutes, or a third"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--restart",
        nargs="*",
        metavar="NAME",
        help="these processes, or all but the database, one after another; `postgres` crashes",
    )
    parser.add_argument("--grow", action="store_true", help="1, 2 and 4 workers and endpoints instead")
    parser.add_argument(
        "--on", type=Path, metavar="FOLDER", help="a topology that runs already, by its state folder"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="for the topology's logs, kept")
    parser.add_argument("--json", action="store_true")
    places.add_arguments(parser)
    parser.set_defaults(endpoints=4)
    return parser


def _load(got: argparse.Namespace) -> Result:
    with contextlib.ExitStack() as stack:
        size = places.size_of(got)
        if got.on:
            cluster = Cluster(got.on.resolve())
        else:
            folder = got.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="load-")))
            cluster = Cluster(folder.resolve() / "site", size)
            stack.callback(cluster.stop)
            cluster.start()
        environ = cluster.environ()
        pool = stack.enter_context(people.answers_process(environ))
        people.set_up(environ)
        people.wait_for_endpoints()
        persons = people.make_class(got.students, min(got.logins, got.students))
        low_s, high_s = got.think_s
        plan = Plan(
            title=f"{got.students} students for {got.minutes:g} min on {_words(cluster)}",
            seconds=got.minutes * 60,
            think_s=(low_s, high_s),
            steps=got.steps,
            seed=got.seed,
            ramp_s=min(LONGEST_RAMP_S, got.minutes * 20) if got.ramp_s is None else got.ramp_s,
            restarts=got.restart,
        )
        return asyncio.run(hold(cluster, plan, persons, pool))


def _words(cluster: Cluster) -> str:
    names = [name.partition("-")[0] for name in cluster.state["processes"]]
    return f"{names.count('web')} web, {names.count('drive')} workers, {names.count('llama')} endpoints"


def _grow(got: argparse.Namespace) -> int:
    """Each size in a process of its own: Django has one database. Hardly any thinking, so that every server is busy."""
    rows: list[dict[str, Any]] = []
    print(
        "| workers and endpoints | runs a second | for each | page p95 ms | token lag p99 ms | cores: web | workers "
        "| Postgres | Valkey, proxy, rest | fake servers | load maker | whole machine |\n"
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        flush=True,
    )
    for number in GROWTH:
        size = ["--workers", str(number), "--endpoints", str(number), "--web", str(got.web)]
        crowd = [
            "--students",
            str(12 * number),
            "--logins",
            "0",
            "--think-s",
            "0.5",
            "2",
            "--steps",
            *got.steps,
        ]
        words = [*size, *crowd, "--scale", str(got.scale), "--minutes", str(min(got.minutes, 0.75)), "--json"]
        done = subprocess.run(
            [sys.executable, "-m", "tests.drills.load", *words],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if not done.stdout.strip():
            return done.returncode or 1
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        print(_grown(number, rows[-1]), flush=True)
    misses = [miss for row in rows for miss in row["misses"]]
    print(*(f"- missed: {miss}" for miss in misses), sep="\n")
    return 1 if misses else 0


def _grown(number: int, row: dict[str, Any]) -> str:
    cpu = {"web": 0.0, "drive": 0.0, "postgres": 0.0, "rest": 0.0, "llama": 0.0}
    for name, cores in row["cpu"].items():
        kind = name.partition("-")[0]
        cpu[kind if kind in cpu else "rest"] += cores
    return (
        f"| {number} | {row['runs_s']:.2f} | {row['runs_s'] / number:.2f} | {row['page_p95_ms']:.0f} "
        f"| {row['lag_p99_ms']:.1f} | {cpu['web']:.2f} | {cpu['drive']:.2f} | {cpu['postgres']:.2f} "
        f"| {cpu['rest']:.2f} | {cpu['llama']:.2f} | {row['maker_cores']:.2f} | {row['machine_cores']:.2f} |"
    )


if __name__ == "__main__":
    sys.exit(main())
