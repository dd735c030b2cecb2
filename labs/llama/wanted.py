"""How an admin wants the embedded server to run: two small files in a folder of its own.

`wanted.json` is written by the site and read by the server's starter at each start; whoever keeps the server ends it
when the number there grows, so that it starts anew. `server.json` is what the starter says of itself.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

_WANTED, _SERVER = "wanted.json", "server.json"
MOST_ERROR = 500


@dataclass(frozen=True, slots=True)
class Wanted:
    """Number 0: nobody has asked for anything. What is 0 or empty is left as the lab starts it."""

    number: int = 0
    runs: bool = True
    model: str = ""
    threads: int = 0
    slots: int = 0
    ctx: int = 0
    batch: int = 0

    @classmethod
    def read(cls, folder: Path) -> Self:
        """What cannot be read is as if nobody had asked."""
        try:
            return cls(**_only(cls, json.loads((folder / _WANTED).read_text())))
        except (OSError, ValueError, TypeError):
            return cls()

    def write(self, folder: Path) -> None:
        _replace(folder / _WANTED, asdict(self))


@dataclass(frozen=True, slots=True)
class Said:
    """Of the start for `number` by process `pid`: at which address, with which flags, and why not where it failed."""

    number: int = 0
    pid: int = 0
    state: Literal["", "started", "stopped", "failed"] = ""
    url: str = ""
    model: str = ""
    threads: int = 0
    slots: int = 0
    ctx: int = 0
    batch: int = 0
    argv: tuple[str, ...] = ()
    error: str = ""

    @classmethod
    def read(cls, folder: Path) -> Self:
        try:
            found = _only(cls, json.loads((folder / _SERVER).read_text()))
            return cls(**{**found, "argv": tuple(found.get("argv", ()))})
        except (OSError, ValueError, TypeError):
            return cls()

    def write(self, folder: Path) -> None:
        _replace(folder / _SERVER, asdict(self))


def _only(kind: type, found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return {name: value for name, value in found.items() if name in kind.__dataclass_fields__}  # type: ignore[attr-defined]


def _replace(path: Path, data: dict[str, Any]) -> None:
    """Whoever reads at that moment gets the old one whole, or the new one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_suffix(f".{os.getpid()}.new")
    new.write_text(json.dumps(data) + "\n")
    new.replace(path)
