"""`scripts/topology`: clean up, draw secrets, start Postgres, prepare, start the rest, wait, and stop on Ctrl-C."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from scripts.cluster import places as places_
from scripts.cluster import postgres
from scripts.cluster.commands import commands, draw_secrets, environment, llama_log
from scripts.cluster.places import Places, Size
from scripts.supervisor import identity, ready, tether
from scripts.supervisor.keeper import longest_delay_s
from scripts.supervisor.manager import Supervisor
from scripts.supervisor.state import StateDir, recorded_processes, recorded_supervisor

ROOT = Path(__file__).resolve().parents[2]
READY_LIMIT_S = 180.0
LOCK_PATIENCE_S = 2.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/topology", description=__doc__)
    places_.add_arguments(parser)
    parser.add_argument(
        "--state", type=Path, default=ROOT / ".labhub-topology", help="the folder it writes into"
    )
    parser.add_argument("--die-with-parent", action="store_true", help=argparse.SUPPRESS)
    got = parser.parse_args()
    if got.die_with_parent:
        tether.die_with_parent(os.getppid(), signal.SIGTERM)
    longest_delay_s()
    os.umask(0o077)
    multiprocessing.set_start_method("fork")
    programs = Path(os.environ.get("LABHUB_POSTGRES_BIN") or _postgres_programs())
    state = StateDir(got.state.resolve())
    if not state.lock(LOCK_PATIENCE_S):
        supervisor = recorded_supervisor(state.read())
        print(
            f"It already runs at {state.read().get('web_url', '?')} (process {supervisor and supervisor.pid})."
        )
        return 1
    clean_up(state)
    folders: list[str] = []
    size, places = places_.size_of(got), places_.choose(places_.size_of(got))
    me = identity.identify(os.getpid())
    print("The topology is starting.", flush=True)
    with postgres.running(programs, places.postgres, state.logs / "postgres.log", folders) as (
        database_url,
        server_pid,
    ):
        files = draw_secrets(state, database_url, places)
        state.write(
            {
                "supervisor": me and {"pid": me.pid, "started": me.started},
                "web_url": places.url,
                "web_urls": places.web_urls,
                "llama_urls": places.llama_urls,
                "environ": files,
                "folders": folders,
                "processes": {},
            }
        )
        state.record("postgres", server_pid)
        code = run(state, places, size, environment(state, files))
    state.write({})
    return code


def run(state: StateDir, places: Places, size: Size, environ: dict[str, str]) -> int:
    logins = prepare(state, places, environ | {"LABHUB_LOG_LEVEL": "WARNING"})

    def watch(supervisor: Supervisor) -> str | None:
        missing = ready.wait_until_ready(probes(places), supervisor.stopping, READY_LIMIT_S)
        for name in sorted(missing) if not supervisor.stopping.is_set() else []:
            supervisor.say(f"{name} does not answer; its log is {state.logs / name}.log")
        return None if missing else banner(places, state, logins)

    supervisor = Supervisor(state, ROOT, watch)
    for command in commands(state, places, size, environ):
        supervisor.add(command)
    try:
        supervisor.loop()
    finally:
        supervisor.terminate()
    return int(supervisor.returncode or 0)


def clean_up(state: StateDir) -> None:
    """What a run that was killed has left: processes, and the folder of its database."""
    left = state.read()
    for process in identity.end(recorded_processes(left), grace_s=3):
        print(f"ended process {process.pid}, left over by a run that was killed", flush=True)
    for folder in left.get("folders", []):
        shutil.rmtree(folder, ignore_errors=True)


def probes(places: Places) -> dict[str, ready.Probe]:
    """All web processes by themselves, and a page through the proxy."""

    def answers(url: str) -> ready.Probe:
        return lambda: ready.answers_ok(url)

    webs = {f"web-{n}": answers(url + "readyz") for n, url in enumerate(places.web_urls, 1)}
    llamas = {f"llama-{n}": answers(url + "/health") for n, url in enumerate(places.llama_urls, 1)}
    return {**webs, **llamas, "proxy": answers(places.url + "login/")}


def prepare(state: StateDir, places: Places, environ: dict[str, str]) -> str:
    """Returns the logins as lines of text."""
    subprocess.run([ROOT / "scripts" / "messages", "compile"], cwd=ROOT, env=environ, check=True)
    words = ["-m", "scripts.cluster.prepare"]
    for number, url in enumerate(places.llama_urls, 1):
        words += ["--endpoint", url, str(llama_log(state, number))]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environ, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def _postgres_programs() -> str:
    where = subprocess.run(
        [ROOT / "scripts" / "postgres", "--where"], stdout=subprocess.PIPE, text=True, check=False
    )
    if where.returncode:
        raise SystemExit(where.returncode)
    return where.stdout.strip()


def banner(places: Places, state: StateDir, logins: str) -> str:
    return f"""
LabHub Voice: {places.url}
Two or more of everything behind nginx. Ctrl-C stops all of it and throws its data away.

{logins.rstrip()}

logs: {state.logs}
"""


if __name__ == "__main__":
    sys.exit(main())
