"""A Postgres of our own for as long as the topology runs: started first, ended last, with a password drawn for it."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scripts.supervisor import tether
from scripts.supervisor.topology import HOST

USER = "labhub"
READY_S = 30.0
STOP_S = 10.0
# The web's pools, a thread a connection in the workers, and whoever looks in.
CONNECTIONS = 200


@contextmanager
def running(programs: Path, port: int, log: Path, folders: list[str]) -> Iterator[tuple[str, int]]:
    """Gives its DATABASE_URL and its process. Its data lie in a folder of their own, named in `folders` and removed at
    the end: as root the server runs as `nobody`, who may not look into ours."""
    password = secrets.token_hex(24)
    folder = Path(tempfile.mkdtemp(prefix="labhub-postgres-"))
    folders.append(str(folder))
    try:
        _initialise(programs, folder, password)
        with log.open("wb") as out:
            server = _start(programs, folder, port, out.fileno())
        try:
            _wait(programs, port, server, log)
            yield f"postgresql://{USER}:{password}@{HOST}:{port}/postgres", server.pid
        finally:
            server.send_signal(2)  # SIGINT: does not wait for its clients to leave
            try:
                server.wait(STOP_S)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _as_somebody() -> list[str]:
    """The server refuses to run as root."""
    if os.geteuid() != 0:
        return []
    return [
        "setpriv",
        "--reuid",
        "nobody",
        "--regid",
        "nogroup",
        "--clear-groups",
        "--pdeathsig",
        "INT",
        "--",
    ]


def _initialise(programs: Path, folder: Path, password: str) -> None:
    secret = folder / "password"
    secret.write_text(password)
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        for path in (folder, secret):
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
    words = [
        "-D",
        str(folder / "data"),
        "-U",
        USER,
        "-A",
        "scram-sha-256",
        "--pwfile",
        str(secret),
        "-E",
        "UTF8",
    ]
    done = subprocess.run(
        [*_as_somebody(), str(programs / "initdb"), *words, "--locale=C.UTF-8"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    secret.unlink()
    if done.returncode:
        raise SystemExit(f"postgres: initdb failed:\n{done.stdout}{done.stderr}")


def _start(programs: Path, folder: Path, port: int, out: int) -> subprocess.Popen[bytes]:
    options: Sequence[str] = (
        f"-p {port} -k  -c listen_addresses={HOST} -c max_connections={CONNECTIONS} -c shared_buffers=128MB"
    ).split(" ")
    words = [str(programs / "postgres"), "-D", str(folder / "data"), *options]
    setpriv = _as_somebody()
    if setpriv:
        setpriv[0] = shutil.which(setpriv[0]) or "/usr/bin/setpriv"
    return subprocess.Popen(
        [sys.executable, "-IS", tether.__file__, str(os.getpid()), *setpriv, *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=out,
        start_new_session=True,
    )


def _wait(programs: Path, port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_S
    words = [str(programs / "pg_isready"), "-q", "-h", HOST, "-p", str(port)]
    while subprocess.run(words, check=False).returncode:
        if server.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"postgres does not answer:\n{log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.05)
