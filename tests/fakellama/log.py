"""The lines of llama-server's log that the lab reads."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from tests.fakellama.tasks import Slot, Task


class Log:
    def __init__(self, path: Path | None) -> None:
        self._file = path.open("a", buffering=1) if path else None
        self._began_s = time.perf_counter()

    def launch(self, slot: Slot, task: Task) -> None:
        self._say(f"I slot launch_slot_: id  {slot.id} | task {task.id} | processing task, is_child = 0")

    def cancel(self, task: Task) -> None:
        self._say(f"W srv          stop: cancel task, id_task = {task.id}")

    def release(self, slot: Slot, task: Task) -> None:
        said = f"stop processing: n_tokens = {len(slot.held)}, truncated = 0"
        self._say(f"I slot      release: id  {slot.id} | task {task.id} | {said}")

    def _say(self, line: str) -> None:
        if self._file is not None:
            us = round((time.perf_counter() - self._began_s) * 1e6)
            minutes, seconds = divmod(us // 1_000_000, 60)
            at = f"{minutes}.{seconds:02d}.{us // 1000 % 1000:03d}.{us % 1000:03d}"
            with contextlib.suppress(OSError):  # a full disk costs llama-server lines, not its life
                self._file.write(f"{at} {line}\n")
