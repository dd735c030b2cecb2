"""One kept process: honcho's Process, which here also writes a log and starts its program again when it ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import BinaryIO

from honcho.process import Process

from scripts.supervisor import tether
from scripts.supervisor.identity import signal_group
from scripts.supervisor.state import StateDir

GRACE_S = 5.0
FIRST_DELAY_S, LONGEST_DELAY_S = 0.5, 30.0
STEADY_S = 60.0
LINE_WIDTH = 160


class Keeper(Process):
    """`cmd` is a list of words. `run` lives in a process of its own, which the manager starts.

    Only a stop that was asked for ends it. A program that ends by itself is started again after a pause
    that doubles up to LONGEST_DELAY_S and begins anew once the program has run for STEADY_S.
    """

    cmd: Sequence[str]
    name: str

    def prepare(self, state: StateDir, stopping: Event, forced: Event, fds: tuple[int, ...]) -> None:
        self.state, self.stopping, self.forced, self.fds = state, stopping, forced, fds

    def run(self, events: multiprocessing.Queue[object] | None = None, ignore_signals: bool = False) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the manager's to hear
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self._supervisor = os.getppid()
        tether.die_with_parent(self._supervisor)
        self._events = events
        self._spawning = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        threading.Thread(target=self._end_when_asked, daemon=True).start()
        returncode = 0
        with _fresh_log(self.state.logs / f"{self.name}.log") as log:
            delay_s = FIRST_DELAY_S
            while (child := self._spawn()) is not None:
                began = time.monotonic()
                self._copy_lines(child, log)
                returncode = child.wait()
                if self._is_over():
                    break
                if time.monotonic() - began > STEADY_S:
                    delay_s = FIRST_DELAY_S
                self._send_message(f"ended unexpectedly ({returncode}); again in {delay_s:g} s\n")
                self.stopping.wait(delay_s)
                delay_s = min(delay_s * 2, LONGEST_DELAY_S)
        self._send_message({"returncode": returncode}, type="stop")

    def _is_over(self) -> bool:
        # An orphan must not bring to life again what the next supervisor is about to end.
        return self.stopping.is_set() or os.getppid() != self._supervisor

    def _spawn(self) -> subprocess.Popen[bytes] | None:
        with self._spawning:
            if self._is_over():
                return None
            self._child = subprocess.Popen(
                [sys.executable, "-IS", tether.__file__, str(os.getpid()), *self.cmd],
                env=self.env,
                cwd=self.cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=self.fds,
            )
        self.state.record(self.name, self._child.pid)
        self._send_message({"pid": self._child.pid}, type="start")
        return self._child

    def _copy_lines(self, child: subprocess.Popen[bytes], log: BinaryIO) -> None:
        assert child.stdout is not None
        with child.stdout as lines:
            for line in lines:
                log.write(line)
                if not self.quiet and is_worth_showing(line):
                    self._send_message(line[:LINE_WIDTH])

    def _end_when_asked(self) -> None:
        self.stopping.wait()
        with self._spawning:
            child = self._child
        if child is None:
            return
        signal_group(child.pid, signal.SIGTERM)
        self.forced.wait(GRACE_S)
        signal_group(child.pid, signal.SIGKILL)


def is_worth_showing(line: bytes) -> bool:
    """The terminal gets warnings and errors; the chatter and the inside of a traceback are in the log."""
    return not line[:1].isspace() and b" INFO " not in line and b" DEBUG " not in line


def _fresh_log(path: Path) -> BinaryIO:
    """Unbuffered, so that a tail sees each line. The log of the run before stays beside it."""
    if path.exists():
        path.replace(path.with_suffix(".log.1"))
    return path.open("wb", buffering=0)
