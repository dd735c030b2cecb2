"""Waiting for a line in the server's log. It is written by another process, so it can come a little later."""

from __future__ import annotations

import time
from pathlib import Path

from labs.llama.log import size_bytes, task_lines

_POLL_S = 0.05


class ServerLog:
    """Reads on from where the log ended when this was made: task ids start again with the server."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = size_bytes(path)

    @property
    def readable(self) -> bool:
        return self._path.is_file()

    def wait_for_cancel(self, id_task: int, limit_s: float) -> str | None:
        """The log's line that says this task was cancelled, or None within the limit."""
        until_s = time.monotonic() + limit_s
        while (line := task_lines(self._path, id_task, self._offset).cancel) is None:
            if time.monotonic() >= until_s:
                return None
            time.sleep(_POLL_S)
        return line
