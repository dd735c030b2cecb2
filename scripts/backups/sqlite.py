"""SQLite's own online backup: one moment of the file, while others write to it."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from scripts.backups.contents import Contents, contents_of
from scripts.backups.errors import Refused

SUFFIX = ".sqlite3"
WAIT_S = 20.0


def save(source: Path, into: Path) -> Contents:
    if not source.exists():
        raise Refused(f"there is no database {source}")
    with closing(sqlite3.connect(source, timeout=WAIT_S)) as there, closing(sqlite3.connect(into)) as here:
        # All pages in one go: in WAL mode that is one moment, and it keeps no writer waiting. In parts, a writer would
        # make it begin anew again and again.
        there.backup(here, pages=-1)
        here.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
        return _checked(here)


def restore(source: Path, into: Path) -> Contents:
    if into.exists() and into.stat().st_size:
        raise Refused(f"{into} is there already. Stop the site and move it away, or name another with --into")
    for left in (into.with_name(f"{into.name}-wal"), into.with_name(f"{into.name}-shm")):
        if left.exists():  # SQLite would replay it into the restored file
            raise Refused(f"{left} of another database is in the way")
    into.parent.mkdir(parents=True, exist_ok=True)
    part = into.with_name(f"{into.name}.part")
    try:
        shutil.copyfile(source, part)
        part.chmod(0o600)
        with closing(sqlite3.connect(part)) as connection:
            found = _checked(connection)
        part.replace(into)
    finally:
        part.unlink(missing_ok=True)
    return found


def _checked(connection: sqlite3.Connection) -> Contents:
    try:
        [[said]] = connection.execute("PRAGMA integrity_check(1)").fetchall()
    except sqlite3.DatabaseError as error:
        raise Refused(f"the copy is damaged: {error}") from error
    if said != "ok":
        raise Refused(f"the copy is damaged: {said}")
    if broken := connection.execute("PRAGMA foreign_key_check").fetchone():
        raise Refused(f"the copy is damaged: a row of {broken[0]} points nowhere")
    return contents_of(connection)
