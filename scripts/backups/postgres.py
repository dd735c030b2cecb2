"""Postgres by its own programs: pg_dump in the snapshot that is also counted, pg_restore in one transaction."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from scripts.backups.contents import Contents, contents_of
from scripts.backups.errors import Refused

SUFFIX = ".dump"
DEBIAN = Path("/usr/lib/postgresql")


def save(database: dict[str, Any], into: Path) -> Contents:
    with _connect(database) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        [snapshot] = connection.execute("SELECT pg_export_snapshot()").fetchone() or [""]
        _run(
            database,
            "pg_dump",
            "--format=custom",
            f"--snapshot={snapshot}",
            "--no-owner",
            "--no-privileges",
            f"--file={into}",
        )
        return contents_of(connection)


def restore(source: Path, database: dict[str, Any]) -> Contents:
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    with _connect(database) as connection:
        [number] = connection.execute(tables).fetchone() or [0]
    if number:
        raise Refused(f"database {database['NAME']} is not empty: {number} tables. Create another one")
    _run(
        database,
        "pg_restore",
        "--no-owner",
        "--no-privileges",
        "--exit-on-error",
        "--single-transaction",
        str(source),
    )
    with _connect(database) as connection:
        return contents_of(connection)


def program(name: str) -> str:
    """Debian's newest first: what stands on PATH may be a wrapper that wants a cluster of its own."""
    folders = sorted(DEBIAN.glob("*/bin"), key=lambda path: int(re.sub(r"\D", "", path.parent.name) or 0))
    for folder in reversed(folders):
        if (folder / name).exists():
            return str(folder / name)
    if found := shutil.which(name):
        return found
    raise Refused(f"{name} is not installed. Debian has it in postgresql-client")


def _where(database: dict[str, Any]) -> dict[str, Any]:
    """What libpq is told of the database, as Django's connection tells it (`sslmode` and the like included), all but
    the password."""
    named = {
        "host": database["HOST"],
        "port": database["PORT"],
        "dbname": database["NAME"],
        "user": database["USER"],
    }
    # The URL's words; what else stands there is no text, and Django's own.
    options = {key: value for key, value in database["OPTIONS"].items() if isinstance(value, str)}
    return options | {key: value for key, value in named.items() if value}


def _connect(database: dict[str, Any]) -> psycopg.Connection[Any]:
    try:
        return psycopg.connect(password=database["PASSWORD"] or None, **_where(database))
    except psycopg.OperationalError as error:
        raise Refused(f"the database cannot be reached: {error}") from error


def _run(database: dict[str, Any], name: str, *words: str) -> None:
    """The password goes by the environment: arguments are visible to everyone."""
    environ = os.environ | ({"PGPASSWORD": database["PASSWORD"]} if database["PASSWORD"] else {})
    where = f"--dbname={make_conninfo(**_where(database))}"
    done = subprocess.run(
        [program(name), where, *words], env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Refused(f"{name} failed: {done.stderr.strip()}")
