"""honcho's Manager, with a stop that is asked for once and forced the second time."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any

from honcho.manager import Manager
from honcho.printer import Message, Printer

from scripts.supervisor.keeper import STOP_SIGNALS, Keeper
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
    """Ends only when it is told to, when `watch` says that the start has failed, or when a keeper died.

    `watch(supervisor)` runs in a thread beside the processes and returns the lines to print once all of them
    are ready; None means that they are not, after it has said why.

    Keepers are told by signals, and not by multiprocessing's events: setting one of those waits for ever for
    a waiter that has died.
    """

    def __init__(self, state: StateDir, root: Path, watch: Callable[[Supervisor], str | None]) -> None:
        super().__init__(Terminal(sys.stdout))
        self.state = state
        self.root = root
        self.watch = watch
        self.stopping = threading.Event()
        self.returncode: int | None = None
        self._process_ctor = Keeper
        self._terminating = False
        self._forcing = False

    def add(self, command: Command) -> None:
        keeper = self.add_process(
            command.name, command.words, quiet=command.quiet, env=command.environ, cwd=str(self.root)
        )
        keeper.prepare(self.state, command.fds)

    def say(self, text: str) -> None:
        self.events.put(Message(type="line", data=text, time=datetime.now(), name=None, colour=None))

    def terminate(self) -> None:
        """Each keeper ends its own program: politely, and after its grace for good."""
        if not self._terminating:
            self._terminating = True
            self.stopping.set()
            if self.returncode is None:
                self.returncode = 1
            self._tell_keepers()

    def kill(self) -> None:
        """The second time a keeper is told, it does not wait."""
        if not self._forcing:
            self._forcing = True
            self._tell_keepers()

    def _tell_keepers(self) -> None:
        for entry in self._processes.values():
            if "process" in entry:
                entry["process"].terminate()

    def _start(self) -> None:
        # Blocked until the keepers have handlers of their own: they must not run ours.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
        super()._start()
        # honcho's handlers print from inside the handler and know no second Ctrl-C.
        for signum in STOP_SIGNALS:
            signal.signal(signum, self._on_signal)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
        threading.Thread(target=self._watch, daemon=True).start()

    def _on_signal(self, signum: int, frame: FrameType | None) -> None:
        if self._terminating:
            self.kill()
            return
        self.returncode = 0
        self.say("stopping; Ctrl-C again to stop at once")
        self.terminate()

    def _watch(self) -> None:
        ready = self.watch(self)
        if ready is not None:
            self.say(ready)
        else:
            self.terminate()

    # A keeper that was killed sends no 'stop', and honcho would wait for it.

    def _all_started(self) -> bool:
        return all("pid" in entry or _is_dead(entry) for entry in self._processes.values())

    def _all_stopped(self) -> bool:
        return all("returncode" in entry or _is_dead(entry) for entry in self._processes.values())

    def _any_stopped(self) -> bool:
        return any("returncode" in entry or _is_dead(entry) for entry in self._processes.values())


def _is_dead(entry: dict[str, Any]) -> bool:
    return not entry["process"].is_alive()
