"""What all parts of one run share."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from labs.llama.client import LlamaClient
from labs.llama.stream import Limits
from labs.measure.board import Board
from labs.measure.control import Control
from labs.measure.logs import ServerLog
from labs.measure.pace import Pace

# Called in the reading thread between two reads: it must only put the event on a queue.
Emit = Callable[[str, dict[str, Any]], None]


@dataclass
class Context:
    client: LlamaClient
    emit: Emit
    control: Control
    limits: Limits
    board: Board
    pace: Pace
    log: ServerLog | None = None
    began_ns: int = field(default_factory=time.perf_counter_ns)

    def run_us(self, at_ns: int) -> int:
        """A moment on the run's clock."""
        return (at_ns - self.began_ns) // 1000
