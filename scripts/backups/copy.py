"""A copy is a file and, beside it under the same name with `.json`, what is in it."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labhub_voice.database import database
from scripts.backups import postgres, sqlite
from scripts.backups.contents import Contents
from scripts.backups.errors import Refused

FORMAT = 1


def save(url: str, folder: Path) -> Path:
    """A new copy in `folder`; whoever may read it reads everything, so only its owner may. Raises Refused."""
    into = database(url)
    is_sqlite = url.startswith("sqlite:")
    suffix = sqlite.SUFFIX if is_sqlite else postgres.SUFFIX
    folder.mkdir(parents=True, exist_ok=True)
    made_at = datetime.now(UTC)
    path = folder / f"labhub-{made_at:%Y%m%d-%H%M%S-%f}{suffix}"
    part = path.with_name(f"{path.name}.part")
    part.touch(mode=0o600, exist_ok=False)
    try:
        found = sqlite.save(Path(into["NAME"]), part) if is_sqlite else postgres.save(into, part)
        about = {
            "format": FORMAT,
            "made_at": made_at.isoformat(timespec="seconds"),
            "sha256": checksum(part),
            **found,
        }
        beside(path).touch(mode=0o600)
        beside(path).write_text(json.dumps(about, indent=1) + "\n")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path


def restore(path: Path, url: str) -> Contents:
    """Into an empty database. Raises Refused: the copy is damaged, the place is not empty, or a grade differs."""
    about = read_about(path)
    if checksum(path) != about["sha256"]:
        raise Refused(f"{path.name} is not what was saved: its checksum differs")
    if url.startswith("sqlite:") != path.name.endswith(sqlite.SUFFIX):
        raise Refused("a copy goes back into the engine that it came from, SQLite or Postgres")
    into = database(url)
    found = (
        sqlite.restore(path, Path(into["NAME"]))
        if url.startswith("sqlite:")
        else postgres.restore(path, into)
    )
    if differing := [name for name in found if found[name] != about[name]]:
        raise Refused(f"what was restored differs from what was saved: {', '.join(differing)}")
    return found


def read_about(path: Path) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads(beside(path).read_text())
    except (OSError, ValueError) as error:
        raise Refused(f"{beside(path)} cannot be read: {error}") from error
    if about.get("format") != FORMAT:
        raise Refused(f"{beside(path).name} is of another format")
    return about


def beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def checksum(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise Refused(str(error)) from error
    return digest.hexdigest()
