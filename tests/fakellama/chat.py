"""One chat request: what it asks of the engine, and what is written of what the engine does."""

from __future__ import annotations

import asyncio
import codecs
import os
import time
from collections.abc import Mapping

from tests.fakellama.connection import Answer, Connection, answer
from tests.fakellama.engine import Engine
from tests.fakellama.faults import Fault, Kind
from tests.fakellama.frames import DONE, END, PING, Frames, event, http_chunk
from tests.fakellama.tasks import Json, Task

LOOK_S = 1.0  # how long a waiting request hears nothing before it looks whether the client is still there
PING_S = 30.0
IN_CHAT: tuple[Kind, ...] = ("die", "wedge", "stream_error", "buffer", "deaf", "answer")
BROKEN = {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}
DIED = 70


class Chat:
    """The engine's listener. `over` is set when nothing more will be written."""

    def __init__(
        self, engine: Engine, connection: Connection, frames: Frames, body: Json, faults: Mapping[Kind, Fault]
    ) -> None:
        self.over = asyncio.Event()
        self.said: Answer | None = None
        self._engine = engine
        self._connection = connection
        self._frames = frames
        self._faults = faults
        self._stream = bool(body.get("stream"))
        self._progress = bool(body.get("return_progress"))
        self._ping_s = float(body.get("sse_ping_interval", PING_S))
        self._text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = b""
        self._batches = 0
        self._spoke_s = time.perf_counter()

    def begun(self, task: Task) -> None:
        self._write(self._connection.stream_head(), is_head=True)
        if self._progress:
            self._send(task, self._frames.progress(task))
        self._break_in("prefill", 0, task)

    def read(self, task: Task) -> None:
        self._batches += 1
        if self._progress:
            self._send(task, self._frames.progress(task))
        self._break_in("prefill", self._batches, task)

    def wrote(self, task: Task, piece: bytes) -> None:
        """A piece that ends inside a character waits for the rest of it; then no role comes either."""
        text = self._decoder.decode(piece)
        is_whole = bool(text) or not piece
        data = self._frames.role() if task.predicted == 1 and is_whole else b""
        if text:
            self._text += text
            data += self._frames.text(task, text)
        if data:
            self._send(task, data)
        self._break_in("decode", task.predicted, task)

    def ended(self, task: Task, finish_reason: str) -> None:
        if self._stream:
            for data in (self._frames.last(task, finish_reason), DONE):
                self._send(task, data)
            self._finish()
        else:
            self.said = answer(self._frames.whole(task, self._text, finish_reason))
        self.over.set()

    def refused(self, task: Task, error: Json) -> None:
        self.said = answer({"error": error}, error["code"])
        self.over.set()

    async def watch(self, task: Task) -> None:
        """Until it is over. Between results it looks at the connection only after a second without any: everybody's
        results begin that second anew, so busy neighbours and pollers hide a closed connection."""
        since_s = time.perf_counter()
        while not self.over.is_set() and not task.cancelled:
            since_s = max(since_s, self._engine.told_s)
            try:
                await asyncio.wait_for(self.over.wait(), max(since_s + LOOK_S - time.perf_counter(), 0.001))
            except TimeoutError:
                if self._engine.told_s > since_s:
                    continue
                since_s = time.perf_counter()
                self._look(task)
                if 0 <= self._ping_s < since_s - self._spoke_s and task.began_s and self._stream:
                    self._send(task, PING)
        if self._stream and self.said is None:
            self._connection.close()

    def _look(self, task: Task) -> bool:
        """Whether the client is there. Once it is not, the task is cancelled."""
        if "deaf" in self._faults or not self._connection.is_closed():
            return True
        if task.may_cancel:
            self._leave(task)
        return not task.may_cancel

    def _send(self, task: Task, data: bytes) -> None:
        if not self._stream or self.over.is_set():
            return
        self._engine.told()
        self._spoke_s = time.perf_counter()
        if self._look(task):
            self._write(http_chunk(data))

    def _write(self, data: bytes, *, is_head: bool = False) -> None:
        if not self._stream:
            return
        holds = self._faults.get("buffer")
        if holds is not None and not (is_head and holds.how == "body"):
            self._kept += data
        else:
            self._connection.write(data)

    def _finish(self) -> None:
        self._connection.write(self._kept + END)

    def _break_in(self, phase: str, count: int, task: Task) -> None:
        """The faults that wait for this moment."""
        for kind in ("die", "wedge"):
            fault = self._faults.get(kind)
            if fault is not None and (fault.phase, fault.after) == (phase, count):
                self._die(fault, task) if kind == "die" else self._engine.thawed.clear()
        broken = self._faults.get("stream_error")
        if broken is not None and phase == "decode" and count == broken.after:
            self._send(task, event(BROKEN))
            self._finish()
            self._leave(task)

    def _die(self, fault: Fault, task: Task) -> None:
        if fault.how in ("", "exit"):
            os._exit(DIED)
        if fault.how == "reset":
            self._connection.reset()
        self._leave(task)

    def _leave(self, task: Task) -> None:
        """Nothing more is written, and the slot is let go."""
        self.over.set()
        self._engine.cancel(task)
