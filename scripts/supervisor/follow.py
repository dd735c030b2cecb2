"""Ends the embedded server when an admin wants it otherwise; its keeper starts it again, and it reads the wish."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

from labs.llama.wanted import Said, Wanted
from scripts.supervisor.identity import Identity, signal_group
from scripts.supervisor.manager import Supervisor
from scripts.supervisor.state import StateDir
from scripts.supervisor.topology import llama_folder

LOOK_S = 0.5


def begin_following(state: StateDir, supervisor: Supervisor) -> None:
    folder = llama_folder(state)
    threading.Thread(target=follow, args=(state, folder, supervisor), name="follow", daemon=True).start()


def forget_what_failed(folder: Path) -> None:
    """Before a start: a stop lasts until then, and settings that gave no server are not tried again."""
    wanted, said = Wanted.read(folder), Said.read(folder)
    if not wanted.runs or (said.number, said.state) != (wanted.number, "started"):
        Wanted().write(folder)
    Said().write(folder)


def follow(state: StateDir, folder: Path, supervisor: Supervisor) -> None:
    """Until everything stops."""
    while not supervisor.stopping.wait(LOOK_S):
        if look(state, folder):
            supervisor.say("the model server starts anew, as an admin wants it")


def look(state: StateDir, folder: Path) -> bool:
    """True when the server was told to end. One that was started for the present number is left alone, and one that has
    not yet said what it was started for is waited for."""
    wanted, said = Wanted.read(folder), Said.read(folder)
    if not said.state or said.number >= wanted.number:
        return False
    found = state.read().get("processes", {}).get("llama")
    if found is None or found["pid"] != said.pid:
        return False
    process = Identity(found["pid"], found["started"])
    if not process.is_alive():
        return False
    signal_group(process.pid, signal.SIGTERM)
    return True
