"""`scripts/run` after its environment is made: clean up, prepare, start, wait, and stop on Ctrl-C."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

from scripts.supervisor import identity, ready, tether, topology
from scripts.supervisor.follow import begin_following, forget_what_failed
from scripts.supervisor.keeper import longest_delay_s
from scripts.supervisor.manager import Supervisor
from scripts.supervisor.state import StateDir, recorded_processes, recorded_supervisor

ROOT = Path(__file__).resolve().parents[2]
# Long enough for a larger model on a slow disk.
READY_LIMIT_S = 180.0
# After a kill -9 the children need a moment to die with their parent.
LOCK_PATIENCE_S = 2.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/run", description="Start everything; Ctrl-C stops it.")
    parser.add_argument(
        "--die-with-parent", action="store_true", help="also stop when whoever started it ends"
    )
    if parser.parse_args().die_with_parent:
        tether.die_with_parent(os.getppid(), signal.SIGTERM)
    longest_delay_s()  # said now, not by each keeper
    # Nobody else on this machine reads our database, logs or keys.
    os.umask(0o077)
    # The keepers inherit the web socket, and watch us as their parent: newer Pythons would put a server between.
    multiprocessing.set_start_method("fork")
    state = StateDir(Path(os.environ.get("LABHUB_STATE_DIR") or ROOT / ".labhub").resolve())
    if not state.lock(LOCK_PATIENCE_S):
        return say_where_it_runs(state)
    for process in identity.end(recorded_processes(state.read()), grace_s=3):
        print(f"ended process {process.pid}, left over by a run that was killed", flush=True)

    places = topology.choose_places(os.environ.get("LABHUB_ENDPOINT_URL"))
    environ = topology.environment(state, places)
    me = identity.identify(os.getpid())
    state.write(
        {
            "supervisor": me and {"pid": me.pid, "started": me.started},
            "web_url": places.web_url,
            "llama_url": places.llama_url,
            "redis_url": places.valkey_url,
            "processes": {},
        }
    )
    forget_what_failed(topology.llama_folder(state))
    logins = prepare(state, places, environ)

    def watch(supervisor: Supervisor) -> str | None:
        if places.llama_port is not None:
            # Not earlier: the keepers are forked, and a fork copies no threads.
            begin_following(state, supervisor)
        missing = ready.wait_until_ready(ready.probes(places), supervisor.stopping, READY_LIMIT_S)
        if not missing:
            return banner(places, state, logins)
        if not supervisor.stopping.is_set():
            for name in sorted(missing):
                supervisor.say(f"{name} does not answer; its log is {state.logs / name}.log")
        return None

    supervisor = Supervisor(state, ROOT, watch)
    for command in topology.commands(state, places, environ):
        supervisor.add(command)
    try:
        supervisor.loop()
    finally:
        supervisor.terminate()
    state.write({})
    return int(supervisor.returncode or 0)


def prepare(state: StateDir, places: topology.Places, environ: dict[str, str]) -> str:
    """Catalogs, tables, static files, the demo class. Returns the logins as lines of text."""
    print("LabHub Voice is starting.", flush=True)
    environ = environ | {"LABHUB_LOG_LEVEL": "WARNING"}
    catalogs = ROOT / "scripts" / "messages"
    if catalogs.exists():
        subprocess.run([catalogs, "compile"], cwd=ROOT, env=environ, check=True)
    log = "" if places.llama_port is None else str(topology.llama_log(state))
    words = ["-m", "scripts.supervisor.prepare", "--endpoint", places.llama_url, "--log", log]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environ, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def say_where_it_runs(state: StateDir) -> int:
    found = state.read()
    supervisor = recorded_supervisor(found)
    pid = supervisor.pid if supervisor else "?"
    print(f"LabHub Voice already runs at {found.get('web_url', '?')} (process {pid}).")
    print(f"Stop it with Ctrl-C in its terminal, or with: kill {pid}")
    return 0


def banner(places: topology.Places, state: StateDir, logins: str) -> str:
    return f"""
LabHub Voice: {places.web_url}
주소를 브라우저에서 여세요. 끝내려면 Ctrl-C.
Open the address in a browser. Ctrl-C stops everything.

{logins.rstrip()}

기록 / logs: {state.logs}
"""


if __name__ == "__main__":
    sys.exit(main())
