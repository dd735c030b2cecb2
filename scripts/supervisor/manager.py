"""honcho's Manager, with a stop that is asked for once and forced the second time."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import FrameType

from honcho.manager import Manager
from honcho.printer import Message, Printer

from scripts.supervisor.keeper import Keeper
from scripts.supervisor.state import StateDir
from scripts.supervisor.topology import Command


class Terminal(Printer):
    """A message without a name is for the person who started us, and printed as it is."""

    def write(self, message: Message) -> None:
        # The terminal may have been closed; that is no reason to leave the children alone.
        with suppress(OSError):
            if message.name is None:
                print(message.data, file=self.output, flush=True)
            else:
                super().write(message)


class Supervisor(Manager):
    """Ends only when it is told to, or when `watch` says that the start has failed.

    `watch(stopping)` runs in a thread beside the processes and returns the lines to print once all of them
    are ready; None means that they are not, after it has said why.
    """

    def __init__(self, state: StateDir, root: Path, watch: Callable[[Supervisor], str | None]) -> None:
        super().__init__(Terminal(sys.stdout))
        self.state = state
        self.root = root
        self.watch = watch
        self.stopping = multiprocessing.Event()
        self.forced = multiprocessing.Event()
        self.returncode: int | None = None
        self._process_ctor = Keeper
        self._terminating = False
        self._forcing = False

    def add(self, command: Command) -> None:
        keeper = self.add_process(
            command.name, command.words, quiet=command.quiet, env=command.environ, cwd=str(self.root)
        )
        keeper.prepare(self.state, self.stopping, self.forced, command.fds)

    def say(self, text: str) -> None:
        self.events.put(Message(type="line", data=text, time=datetime.now(), name=None, colour=None))

    def terminate(self) -> None:
        """Each keeper ends its own program: politely, and after its grace for good."""
        if not self._terminating:
            self._terminating = True
            self.stopping.set()

    def kill(self) -> None:
        self.forced.set()

    def _start(self) -> None:
        # honcho's own handlers, set just before this, print from inside the handler and know no second Ctrl-C.
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, self._on_signal)
        super()._start()
        threading.Thread(target=self._watch, daemon=True).start()

    def _on_signal(self, signum: int, frame: FrameType | None) -> None:
        self.returncode = 0 if self.returncode is None else self.returncode
        if not self._terminating:
            self.say("stopping; Ctrl-C again to stop at once")
            self.terminate()
        elif not self._forcing:
            self._forcing = True
            self.kill()

    def _watch(self) -> None:
        ready = self.watch(self)
        if ready is not None:
            self.say(ready)
        elif not self.stopping.is_set():
            self.returncode = 1
            self.terminate()
