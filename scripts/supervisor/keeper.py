"""One kept process: honcho's Process, which here also writes a log and starts its program again when it ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from honcho.process import Process

from scripts.supervisor import tether
from scripts.supervisor.identity import signal_group
from scripts.supervisor.state import StateDir

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE_S = 5.0
FIRST_DELAY_S = 0.5
STEADY_S = 60.0
LINE_WIDTH = 160
# In both formats of LABHUB_LOG_FORMAT.
CHATTER = (b" INFO ", b" DEBUG ", b'"level": "INFO"', b'"level": "DEBUG"')


class Keeper(Process):
    """`cmd` is a list of words. `run` lives in a process of its own, which the manager starts.

    Only a stop that was asked for ends it. A program that ends by itself is started again after a pause
    that doubles up to LABHUB_RESTART_S and begins anew once the program has run for STEADY_S.
    """

    cmd: Sequence[str]
    name: str

    def prepare(self, state: StateDir, fds: tuple[int, ...]) -> None:
        self.state, self.fds = state, fds

    def run(self, events: multiprocessing.Queue[object] | None = None, ignore_signals: bool = False) -> None:
        self._events = events
        self._asked = False
        self._child: subprocess.Popen[bytes] | None = None
        self._supervisor = os.getppid()
        self._take_signals()
        tether.die_with_parent(self._supervisor)
        returncode = 0
        longest_s = longest_delay_s()
        with _fresh_log(self.state.logs / f"{self.name}.log") as log:
            delay_s = FIRST_DELAY_S
            while not self._is_over():
                began = time.monotonic()
                child = self._spawn()
                self._copy_lines(child, log)
                returncode = child.wait()
                self._child = None
                if self._is_over():
                    break
                if time.monotonic() - began > STEADY_S:
                    delay_s = FIRST_DELAY_S
                # Of a quiet program this is the only word that reaches the terminal.
                last = f": {self._last[:LINE_WIDTH]}" if self.quiet and returncode > 0 and self._last else ""
                self._send_message(f"ended unexpectedly ({returncode}){last}; again in {delay_s:g} s\n")
                self._pause(delay_s)
                delay_s = min(delay_s * 2, longest_s)
        self._send_message({"returncode": returncode}, type="stop")

    def _take_signals(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C and a closed terminal are the manager's to hear
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._on_term)
        signal.signal(signal.SIGALRM, self._on_alarm)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)

    def _on_term(self, signum: int, frame: FrameType | None) -> None:
        if self._asked:
            self._signal_child(signal.SIGKILL)
            return
        self._asked = True
        self._signal_child(signal.SIGTERM)
        signal.setitimer(signal.ITIMER_REAL, GRACE_S)

    def _on_alarm(self, signum: int, frame: FrameType | None) -> None:
        self._signal_child(signal.SIGKILL)

    def _signal_child(self, signum: int) -> None:
        if self._child is not None:
            signal_group(self._child.pid, signum)

    def _is_over(self) -> bool:
        # An orphan must not bring to life again what the next supervisor is about to end.
        return self._asked or os.getppid() != self._supervisor

    def _pause(self, delay_s: float) -> None:
        deadline = time.monotonic() + delay_s
        while time.monotonic() < deadline and not self._is_over():
            time.sleep(0.1)

    def _spawn(self) -> subprocess.Popen[bytes]:
        self._child = child = subprocess.Popen(
            [sys.executable, "-IS", tether.__file__, str(os.getpid()), *self.cmd],
            env=self.env,
            cwd=self.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=self.fds,
        )
        if self._asked:  # while it was being started, when there was nobody to pass it on to
            self._signal_child(signal.SIGTERM)
        with suppress(OSError):  # on a full disk too: only the next start's cleaning up reads it
            self.state.record(self.name, child.pid)
        self._send_message({"pid": child.pid}, type="start")
        return child

    def _copy_lines(self, child: subprocess.Popen[bytes], log: BinaryIO) -> None:
        assert child.stdout is not None
        self._last = ""
        with child.stdout as lines:
            for line in lines:
                with suppress(OSError):  # a full disk costs lines of a log, not the program behind it
                    log.write(line)
                self._last = line.decode(errors="replace").strip() or self._last
                if not self.quiet and is_worth_showing(line):
                    self._send_message(line[:LINE_WIDTH])


def longest_delay_s() -> float:
    given = os.environ.get("LABHUB_RESTART_S", "30")
    try:
        return float(given)
    except ValueError:
        raise SystemExit(f"LABHUB_RESTART_S must be a number, not {given!r}.") from None


def is_worth_showing(line: bytes) -> bool:
    """The terminal gets warnings and errors; the chatter and the inside of a traceback are in the log."""
    return not line[:1].isspace() and not any(word in line for word in CHATTER)


def _fresh_log(path: Path) -> BinaryIO:
    """Unbuffered, so that a tail sees each line. The log of the run before stays beside it."""
    if path.exists():
        path.replace(path.with_suffix(".log.1"))
    return path.open("wb", buffering=0)
