"""The processes of the topology, with the names that docker-compose.yml has for them."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

from scripts.cluster import proxy
from scripts.cluster.places import Places, Size
from scripts.supervisor import topology
from scripts.supervisor.state import StateDir
from scripts.supervisor.topology import FOREIGN, HOST, Command

DRIVE_THREADS, BACKGROUND_THREADS = 4, 2
# Connections of a web process, of the two hundred that Postgres takes.
POOL = 12


def draw_secrets(state: StateDir, database_url: str, places: Places) -> dict[str, str]:
    """Into files that only we may read. Returns the environment that names them."""
    folder = state.path / "secrets"
    folder.mkdir(mode=0o700, exist_ok=True)
    password = secrets.token_hex(24)
    _write(folder / "valkey.conf", f"requirepass {password}\n")
    _write(folder / "redis_url", f"redis://:{password}@{HOST}:{places.valkey}/0")
    _write(folder / "database_url", database_url)
    return {
        "SECRET_KEY_FILE": str(state.secret_key_file()),
        "REDIS_URL_FILE": str(folder / "redis_url"),
        "DATABASE_URL_FILE": str(folder / "database_url"),
    }


def _write(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(text)


def environment(state: StateDir, secret_files: Mapping[str, str]) -> dict[str, str]:
    """Demo mode lends the logins and plain HTTP; everything else is as in a real deployment."""
    environ = {name: value for name, value in os.environ.items() if name.removesuffix("_FILE") not in FOREIGN}
    return (
        environ
        | dict(secret_files)
        | {
            "DJANGO_SETTINGS_MODULE": "labhub_voice.settings",
            "LABHUB_DEMO": "1",
            "LABHUB_STATE_DIR": str(state.path),
            "LABHUB_BEHIND_PROXY": "1",
            "PYTHONUNBUFFERED": "1",
        }
    )


def commands(state: StateDir, places: Places, size: Size, environ: Mapping[str, str]) -> list[Command]:
    def python(name: str, words: str, *more: str, quiet: bool = False, **own: str) -> Command:
        return Command(name, [sys.executable, *words.split(), *more], {**environ, **own}, quiet)

    def worker(name: str, queue: str, threads: int) -> Command:
        options = f"-Q {queue} -P threads -c {threads} -n {name}@%h --without-gossip --without-mingle"
        return python(name, f"-m celery --quiet --skip-checks -A labhub_voice worker {options}")

    conf = str(state.path / "secrets" / "valkey.conf")
    valkey = topology.valkey(state, places.valkey)
    return [
        Command("valkey", [valkey[0], conf, *valkey[1:]], environ, quiet=True),
        *(_llama(python, state, size, number, port) for number, port in enumerate(places.llama, 1)),
        *(worker(f"drive-{number}", "drive", DRIVE_THREADS) for number in range(1, size.workers + 1)),
        worker("background", "background", BACKGROUND_THREADS),
        python("sweep", "manage.py sweep"),
        *(
            python(
                f"web-{number}",
                f"-m labhub_voice.web -b {HOST} -p {port} --proxy-headers --websocket_connect_timeout 20 "
                "labhub_voice.asgi:application",
                "--access-log",
                str(state.logs / f"access-{number}.log"),
                LABHUB_DB_POOL=str(POOL),
            )
            for number, port in enumerate(places.web, 1)
        ),
        Command("proxy", proxy.command(state.path / "nginx", places), environ, quiet=True),
    ]


def _llama(python: object, state: StateDir, size: Size, number: int, port: int) -> Command:
    assert callable(python)
    log, slots = llama_log(state, number), state.path / "slots" / str(number)
    if size.real:
        words = f"-m labs.llama.embedded --port {port} --die-with-parent"
        more = ("--log", str(log), "--slot-save-path", str(slots))
    else:
        words = f"-m tests.fakellama --port {port} --scale {size.scale}"
        more = ("--log", str(log), "--slot-save-path", str(slots))
    found: Command = python(f"llama-{number}", words, *more, quiet=True)
    return found


def llama_log(state: StateDir, number: int) -> Path:
    return state.logs / f"llama-server-{number}.log"
