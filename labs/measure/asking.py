"""One ask: sent, read, watched, cut where the plan says so, and recorded."""

from __future__ import annotations

import time
from typing import Any

from labs.llama.errors import LlamaError, Rejected
from labs.llama.stream import Read
from labs.llama.wire import Progress
from labs.measure.board import LOOK_EVERY_S
from labs.measure.context import Context
from labs.measure.figures import read_figures
from labs.measure.opening import Opening
from labs.measure.plan import Ask, Close
from labs.measure.prepare import Prompt
from labs.measure.recording import Figures, Frame, Recording, StreamEnd
from labs.measure.request import body_of
from labs.measure.sentences import Sentence
from labs.measure.tracker import Tracker

RELEASE_S = 5.0  # the final result leaves the server a moment before the slot is released
LATE_S = 5.0  # how long past its deadline a cut ask is still watched, to say how late it was freed
# Faster looks hide a closed connection from a server that is not writing (measuring.md 2.4).
SLOW_LOOK_S = 1.5
LOG_LINE_S = 1.0


class Asking:
    """`read()` and `settle()` in the thread that owns the connection, then `recording()`."""

    def __init__(self, run: Context, ask: Ask, prompt: Prompt) -> None:
        self.run = run
        self.ask = ask
        self.prompt = prompt
        self.stream = run.client.chat(body_of(ask, prompt), run.limits)
        if isinstance(ask.end, Close):
            self.stream.close_after_sent(ask.end.after_ms / 1000)
        self.failure: LlamaError | None = None
        self.end: StreamEnd = "truncated"
        self.tracker = Tracker(run, ask.key, ask.slot, self.us)
        self._first_token_seen = False
        self._opening = Opening()
        self._finish_reason: str | None = None
        self._generated = False
        self._progressed = False
        self._late: dict[str, Any] | None = None
        self._frames: list[Frame] = []
        self._figures: Figures | None = None
        self._ended_ns: int | None = None
        self._deadline_us: int | None = None
        self._log_cancel: str | None = None

    def us(self, at_ns: int) -> int:
        """A moment on this ask's clock, which starts when the request's last byte was handed over."""
        return (at_ns - (self.stream.sent_ns or self.stream.started_ns or at_ns)) // 1000

    def read(self) -> None:
        """Sends the ask and reads it to its end. A failure to open stays in `failure`."""
        self.tracker.start()
        try:
            with self.run.control.open(self.stream), self.stream:
                self.tracker.opened.set()
                self._read_body()
            self.end = self._how_it_ended()
            self._tell(self._opening.end(self.end, self._finish_reason))
        except LlamaError as exc:
            self.failure = exc
            self.end = "rejected" if isinstance(exc, Rejected) else "truncated"
        finally:
            self._ended_ns = self._ended_ns or time.perf_counter_ns()
            self._say_late()
            self.tracker.end()

    def settle(self) -> None:
        """After the end: until when the slot was busy with our task, and what stood in it then."""
        try:
            if self.failure is None and self.run.control.stopped is None:
                if self.end in ("cut", "held"):
                    self._settle_cut()
                else:
                    self.tracker.watch_release(self._now_us() + round(RELEASE_S * 1e6))
        finally:
            self.tracker.stop()
        self.run.pace.learn(self.figures())

    def _settle_cut(self) -> None:
        self._deadline_us = self._closed_us() + self.run.pace.allowance_us(
            in_decode=self._generated, n=len(self.prompt.ids)
        )
        every_s = LOOK_EVERY_S
        if not self._generated and not self._progressed:
            # Nothing is being written to the closed connection, so only an undisturbed server looks at it.
            every_s = SLOW_LOOK_S
            self.run.control.wait((self._deadline_us - self._now_us()) / 1e6)
        self.tracker.watch_release(self._deadline_us + round(LATE_S * 1e6), every_s)
        self._read_log()

    def figures(self) -> Figures:
        if self._figures is None:
            headers_ns = self.stream.headers_ns
            self._figures = read_figures(
                self._frames,
                connect_us=self._connect_us(),
                headers_us=None if headers_ns is None else self.us(headers_ns),
                end=self.end,
                end_us=None if self._ended_ns is None else self.us(self._ended_ns),
            )
        return self._figures

    def recording(self) -> Recording:
        cut_ns = self.stream.cut_ns
        sent_ns = self.stream.sent_ns or self.stream.started_ns or self.run.began_ns
        return Recording(
            key=self.ask.key,
            kind="ask",
            slot=self.ask.slot,
            sent_at_us=self.run.run_us(sent_ns),
            figures=self.figures(),
            prompt_ids=self.prompt.ids,
            prompt_pieces=self.prompt.pieces,
            prompt_hash=self.prompt.text_hash,
            id_task=self.tracker.id_task,
            closed_us=None if cut_ns is None else self.us(cut_ns),
            idle_us=self.tracker.idle_us,
            deadline_us=self._deadline_us,
            prompt_tokens_after=self.tracker.prompt_tokens_after,
            log_cancel=self._log_cancel,
            log_readable=self.run.log is not None and self.run.log.readable,
            samples=tuple(self.tracker.samples),
            frames=tuple(self._frames),
        )

    def _connect_us(self) -> int | None:
        started_ns, connected_ns = self.stream.started_ns, self.stream.connected_ns
        return None if started_ns is None or connected_ns is None else (connected_ns - started_ns) // 1000

    def _read_body(self) -> None:
        for read in self.stream:
            self._take(read)
        self._ended_ns = time.perf_counter_ns()

    def _take(self, read: Read) -> None:
        """The stamp was taken when the bytes came; from here on only what the next read can wait for."""
        at_us = self.us(read.at_ns)
        self._frames.append(Frame(at_us, read.data))
        self._say_late()
        text = ""
        for chunk in read.chunks:
            text += chunk.content
            self._finish_reason = chunk.finish_reason or self._finish_reason
            self._generated = self._generated or chunk.is_generated
            if chunk.progress is not None:
                self._progressed = True
                self._say_progress(chunk.progress, at_us)
        if text:
            if not self._first_token_seen:
                self._first_token_seen = True
                self.run.emit("first_token", {"key": self.ask.key, "ttft_us": at_us})
            self.run.emit("tokens", {"key": self.ask.key, "at_us": at_us, "text": text})
            self._tell(self._opening.take(text, at_us))
        if self._generated and not self.tracker.wrote.is_set():
            self.tracker.wrote.set()

    def _say_progress(self, progress: Progress, at_us: int) -> None:
        """The last one comes half a millisecond before the first token, and telling it wakes the publisher on
        a core that the first token's read needs (docs/bench-measure.md): it is told with the next read."""
        said = {
            "key": self.ask.key,
            "at_us": at_us,
            "processed": progress.processed,
            "total": progress.total,
            "cache": progress.cache,
        }
        if progress.processed >= progress.total:
            self._late = said
        else:
            self.run.emit("progress", said)

    def _say_late(self) -> None:
        if self._late is not None:
            self.run.emit("progress", self._late)
            self._late = None

    def _tell(self, first: Sentence | None) -> None:
        if first is not None:
            said = {"key": self.ask.key, "at_us": first.at_us, "text": first.text}
            self.run.emit("first_sentence", said)

    def _how_it_ended(self) -> StreamEnd:
        end = self.stream.end
        if end is None:
            return "truncated"
        return "error" if end == "bad_frame" else end

    def _now_us(self) -> int:
        return self.us(time.perf_counter_ns())

    def _closed_us(self) -> int:
        return self.us(self.stream.cut_ns or self._ended_ns or time.perf_counter_ns())

    def _read_log(self) -> None:
        id_task = self.tracker.id_task
        if self.run.log is not None and id_task is not None:
            self._log_cancel = self.run.log.wait_for_cancel(id_task, LOG_LINE_S)
