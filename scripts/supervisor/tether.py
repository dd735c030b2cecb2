"""`python tether.py PARENT PROGRAM ARGUMENTS...`: become that program, and be killed when PARENT dies.

A program of its own, because the alternative (`preexec_fn`) is not safe in a process with threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int, signum: int = signal.SIGKILL) -> None:
    """Linux sends us the signal as soon as the parent is gone. Elsewhere the next start ends what is left over."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signum)
    if os.getppid() != parent:  # it died before the line above
        os._exit(1)


def main(arguments: list[str]) -> None:
    parent, *command = arguments
    die_with_parent(int(parent))
    # The keeper ignores these, and an ignored signal would stay ignored across the exec.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
