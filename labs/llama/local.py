"""The process behind a server's address, where it runs on this machine and may be looked at."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

_LISTENING = "0A"
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class _Listener:
    """`link`: /proc/<pid>/fd/<n>, which names the listening socket for as long as the process holds it open."""

    pid: int
    link: Path
    socket: str

    @property
    def still_listens(self) -> bool:
        return _target(self.link) == self.socket


# By the address and where it was looked up. The kernel writes a line for every connection that lately was, thousands on
# a busy machine, and a search was a seventh of a worker's time.
_found: dict[tuple[str, Path], _Listener] = {}


def listening_pid(base_url: str, proc: Path = _PROC) -> int | None:
    """Of the process that listens on a loopback address's port. None: elsewhere, another user's, or no Linux."""
    known = _found.get((base_url, proc))
    if known is None or not known.still_listens:
        _found.pop((base_url, proc), None)
        known = _search(base_url, proc)
        if known is not None:
            _found[base_url, proc] = known
    return None if known is None else known.pid


def _search(base_url: str, proc: Path) -> _Listener | None:
    parts = urlsplit(base_url)
    if not parts.port or not _is_loopback(parts.hostname or ""):
        return None
    wanted = {f"socket:[{inode}]" for inode in _inodes(parts.port, proc)}
    if not wanted:
        return None
    for process in proc.iterdir():
        if process.name.isdigit() and (found := _held(process / "fd", wanted)) is not None:
            return _Listener(int(process.name), *found)
    return None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _inodes(port: int, proc: Path) -> set[str]:
    """Columns as the kernel writes them: local address, state and inode are the 2nd, 4th and 10th."""
    found = set()
    address = f":{port:04X} "
    for name in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / name).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            if address not in line:  # a busy machine has thousands of others
                continue
            words = line.split()
            if words[3] == _LISTENING and int(words[1].rpartition(":")[2], 16) == port:
                found.add(words[9])
    return found


def _held(folder: Path, wanted: set[str]) -> tuple[Path, str] | None:
    """The link and what it names; read once, for a moment later it may name nothing or something else."""
    try:
        links = list(folder.iterdir())
    except OSError:  # another user's process, or one that has just ended
        return None
    return next(((link, target) for link in links if (target := _target(link)) in wanted), None)


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # closed meanwhile
        return ""
