"""Reading a llama-server's log for what became of one task. The log is evidence beside `/slots`, never
instead of it; its wording changes between builds, so an absent line says nothing."""

import re
from dataclasses import dataclass
from pathlib import Path

_CANCEL = re.compile(r"cancel task, id_task = (\d+)\b")
_RELEASE = re.compile(r"\brelease: +id +(\d+) \| task (\d+) \| stop processing: n_tokens = (\d+)")


@dataclass(frozen=True, slots=True)
class TaskLines:
    """The lines about one task as they stand in the log, None where there are none. `n_tokens` is what
    the slot held when it let go. `next_offset` is where to read on."""

    cancel: str | None
    release: str | None
    slot_id: int | None
    n_tokens: int | None
    next_offset: int


def size_bytes(path: Path) -> int:
    """The offset to remember before asking; 0 where there is no log yet."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def lines_since(path: Path, offset: int) -> tuple[list[str], int]:
    """The whole lines after a byte offset, and the offset after them. A log that became shorter was
    rotated and is read from its beginning."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, 2)
            file.seek(offset if offset <= end else 0)
            start = file.tell()
            data = file.read()
    except OSError:
        return [], offset
    whole = data[: data.rfind(b"\n") + 1]
    return whole.decode("utf-8", "replace").splitlines(), start + len(whole)


def task_lines(path: Path, task_id: int, offset: int = 0) -> TaskLines:
    """What the log says about a task since an offset."""
    lines, next_offset = lines_since(path, offset)
    cancel = release = slot_id = n_tokens = None
    for line in lines:
        if (found := _CANCEL.search(line)) and int(found[1]) == task_id:
            cancel = line
        elif (found := _RELEASE.search(line)) and int(found[2]) == task_id:
            release, slot_id, n_tokens = line, int(found[1]), int(found[3])
    return TaskLines(cancel, release, slot_id, n_tokens, next_offset)


def tail_lines(path: Path, count: int, most_bytes: int = 64 * 1024) -> list[str] | None:
    """The last whole lines, at most `count` of them. None where there is no log to read."""
    ends = _ends(path, most_bytes)
    return None if ends is None else ends[1].decode("utf-8", "replace").splitlines()[-count:]


def readable_ends(path: Path, most_bytes: int = 64 * 1024) -> list[str]:
    """The lines of its first and its last part, where a server says how it was started; [] without a log."""
    ends = _ends(path, most_bytes)
    return [] if ends is None else b"".join(ends).decode("utf-8", "replace").splitlines()


def _ends(path: Path, most_bytes: int) -> tuple[bytes, bytes] | None:
    """Two parts that do not overlap, cut at the ends of lines; the first is empty where the second holds all."""
    try:
        if not path.is_file():  # a pipe would never end
            return None
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            if size <= most_bytes:
                return b"", file.read(most_bytes)
            first = file.read(min(most_bytes, size - most_bytes))
            file.seek(size - most_bytes)
            last = file.read(most_bytes)
    except OSError:
        return None
    return first[: first.rfind(b"\n") + 1], last[last.find(b"\n") + 1 :]
