"""The process behind a server's address, where it runs on this machine and may be looked at."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from urllib.parse import urlsplit

_LISTENING = "0A"
_PROC = Path("/proc")


def listening_pid(base_url: str, proc: Path = _PROC) -> int | None:
    """Of the process that listens on a loopback address's port. None: elsewhere, another user's, or no Linux."""
    parts = urlsplit(base_url)
    if not parts.port or not _is_loopback(parts.hostname or ""):
        return None
    inodes = _inodes(parts.port, proc)
    if not inodes:
        return None
    wanted = {f"socket:[{inode}]" for inode in inodes}
    for process in proc.iterdir():
        if process.name.isdigit() and _holds(process / "fd", wanted):
            return int(process.name)
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


def _holds(folder: Path, wanted: set[str]) -> bool:
    try:
        links = list(folder.iterdir())
    except OSError:  # another user's process, or one that has just ended
        return False
    return any(_target(link) in wanted for link in links)


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # closed meanwhile
        return ""
