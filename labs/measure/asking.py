"""One ask: sent, read, watched, cut where the plan says so, and recorded."""

from __future__ import annotations

import threading
import time
from typing import Any

from labs.llama.errors import LlamaError, Rejected
from labs.llama.facts import Slot
from labs.llama.stream import Read
from labs.measure.board import LOOK_EVERY_S
from labs.measure.context import Context
from labs.measure.figures import read_figures
from labs.measure.plan import Ask, Close
from labs.measure.prepare import Prompt
from labs.measure.recording import Figures, Frame, Recording, SlotSample, StreamEnd

# The look that finds our task waits for the first token, so that it cannot delay that token's stamp; in a
# long prefill it does not wait longer than this.
FIRST_LOOK_S = 0.1
RELEASE_S = 5.0  # the final result leaves the server a moment before the slot is released
SLOW_LOOK_S = (
    1.5  # faster looks hide a closed connection from a server that is not writing (measuring.md 2.4)
)
LATE_S = 5.0  # how long past its deadline a cut ask is still watched, to say how late it was freed
LOG_LINE_S = 1.0
SEED = 1


def body_of(ask: Ask, prompt: Prompt) -> dict[str, Any]:
    """The request as the server gets it (DESIGN 5)."""
    body: dict[str, Any] = {
        "messages": prompt.messages,
        "max_tokens": ask.max_tokens,
        "id_slot": ask.slot,
        "cache_prompt": ask.cache,
        "temperature": 0,
        "seed": SEED,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
    }
    if ask.may_be_cut:
        body["timings_per_token"] = True
    if ask.may_be_cut or ask.ignore_eos:
        body["ignore_eos"] = True
    return body


class Asking:
    """`read()` and `settle()` in the thread that owns the connection, then `recording()`.

    `saw` is called by the board from other threads; everything it touches is replaced or appended whole.
    """

    def __init__(self, run: Context, ask: Ask, prompt: Prompt) -> None:
        self.run = run
        self.ask = ask
        self.prompt = prompt
        self.stream = run.client.chat(body_of(ask, prompt), run.limits)
        if isinstance(ask.end, Close):
            self.stream.close_after_sent(ask.end.after_ms / 1000)
        self.failure: LlamaError | None = None
        self.id_task: int | None = None
        self.first_token_us: int | None = None
        self.end: StreamEnd = "truncated"
        self._generated = False
        self._progressed = False
        self._frames: list[Frame] = []
        self._samples: list[SlotSample] = []
        self._figures: Figures | None = None
        self._ended_ns: int | None = None
        self._idle_us: int | None = None
        self._deadline_us: int | None = None
        self._prompt_tokens_after: int | None = None
        self._log_cancel: str | None = None
        self._opened = threading.Event()
        self._wrote = threading.Event()
        self._ended = threading.Event()

    @property
    def slot(self) -> int:
        return self.ask.slot

    def us(self, at_ns: int) -> int:
        """A moment on this ask's clock, which starts when the request's last byte was handed over."""
        return (at_ns - (self.stream.sent_ns or self.stream.started_ns or at_ns)) // 1000

    def read(self) -> None:
        """Sends the ask and reads it to its end. A failure to open stays in `failure`."""
        finder = threading.Thread(target=self._find_task, name=f"look-{self.ask.key}", daemon=True)
        finder.start()
        self.run.board.watch(self)
        try:
            with self.run.control.open(self.stream), self.stream:
                self._opened.set()
                self._read_body()
            self.end = self._how_it_ended()
        except LlamaError as exc:
            self.failure = exc
            self.end = "rejected" if isinstance(exc, Rejected) else "truncated"
        finally:
            self._ended_ns = self._ended_ns or time.perf_counter_ns()
            for event in (self._opened, self._wrote, self._ended):
                event.set()
        finder.join()

    def settle(self) -> None:
        """After the end: until when the slot was busy with our task, and what stood in it then."""
        try:
            if self.failure is None and self.run.control.stopped is None:
                if self.end in ("cut", "held"):
                    self._settle_cut()
                else:
                    self._watch_release(self._now_us() + round(RELEASE_S * 1e6), LOOK_EVERY_S)
        finally:
            self.run.board.unwatch(self)
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
        self._watch_release(self._deadline_us + round(LATE_S * 1e6), every_s)
        self._read_log()

    def saw(self, row: Slot, at_ns: int) -> None:
        """What a look said of our slot."""
        if not self._opened.is_set() or self.stream.sent_ns is None:
            return  # still queued: the slot is somebody else's
        may_be_ours = self.id_task is None and (row.is_processing or self._ended.is_set())
        if may_be_ours and self.run.board.claim(row.id_task):
            self.id_task = row.id_task
        sample = SlotSample(
            self.us(at_ns),
            row.is_processing,
            row.id_task,
            row.n_prompt_tokens,
            row.n_decoded,
        )
        self._samples.append(sample)
        self.run.emit(
            "slot",
            {
                "key": self.ask.key,
                "at_us": sample.at_us,
                "busy": sample.busy,
                "n_prompt_tokens": sample.n_prompt_tokens,
            },
        )

    def figures(self) -> Figures:
        if self._figures is None:
            headers_ns = self.stream.headers_ns
            self._figures = read_figures(
                self._frames,
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
            prompt_hash=self.prompt.text_hash,
            id_task=self.id_task,
            closed_us=None if cut_ns is None else self.us(cut_ns),
            idle_us=self._idle_us,
            deadline_us=self._deadline_us,
            prompt_tokens_after=self._prompt_tokens_after,
            log_cancel=self._log_cancel,
            log_readable=self.run.log is not None and self.run.log.readable,
            samples=tuple(self._samples),
            frames=tuple(self._frames),
        )

    def _read_body(self) -> None:
        for read in self.stream:
            self._take(read)
        self._ended_ns = time.perf_counter_ns()

    def _take(self, read: Read) -> None:
        """The stamp was taken when the bytes came; from here on only what the next read can wait for."""
        at_us = self.us(read.at_ns)
        self._frames.append(Frame(at_us, read.data))
        text = ""
        for chunk in read.chunks:
            text += chunk.content
            if chunk.is_generated and not self._generated:
                self._generated = True
            if (progress := chunk.progress) is not None:
                self._progressed = True
                self.run.emit(
                    "progress",
                    {
                        "key": self.ask.key,
                        "at_us": at_us,
                        "processed": progress.processed,
                        "total": progress.total,
                        "cache": progress.cache,
                    },
                )
        if text:
            if self.first_token_us is None:
                self.first_token_us = at_us
                self.run.emit("first_token", {"key": self.ask.key, "ttft_us": at_us})
            self.run.emit("tokens", {"key": self.ask.key, "at_us": at_us, "text": text})
        if self._generated and not self._wrote.is_set():
            self._wrote.set()

    def _how_it_ended(self) -> StreamEnd:
        end = self.stream.end
        if end is None:
            return "truncated"
        return "error" if end == "bad_frame" else end

    def _find_task(self) -> None:
        """Side thread: reads our task's id once after the headers, off the reading thread's path."""
        self._opened.wait()
        self._wrote.wait(FIRST_LOOK_S)
        while not self._found() and not self._ended.is_set() and not self.run.board.off:
            self.run.board.look()
            self._ended.wait(0 if self._found() else LOOK_EVERY_S)

    def _found(self) -> bool:
        return self.id_task is not None

    def _now_us(self) -> int:
        return self.us(time.perf_counter_ns())

    def _closed_us(self) -> int:
        return self.us(self.stream.cut_ns or self._ended_ns or time.perf_counter_ns())

    def _watch_release(self, until_us: int, every_s: float) -> None:
        """Looks until our task is gone from the slot, or the limit is over."""
        while True:
            look = self.run.board.look()
            row = look.slot(self.slot) if look is not None else None
            if look is not None and row is not None:
                ours = self.id_task is None or row.id_task == self.id_task
                if not ours or not row.is_processing:
                    self._idle_us = self.us(look.at_ns)
                    self._prompt_tokens_after = row.n_prompt_tokens if ours and self._found() else None
                    return
            if self.run.board.off or self._now_us() >= until_us:
                return
            if self.run.control.wait(every_s):
                return

    def _read_log(self) -> None:
        if self.run.log is not None and self.id_task is not None:
            self._log_cancel = self.run.log.wait_for_cancel(self.id_task, LOG_LINE_S)
