"""The wheel's llama-server computes with OpenMP. Its library, `libgomp.so.1`, comes with a compiler and is missing on a
bare system; the wheel cmeel-libomp has one that takes its place."""

from __future__ import annotations

import ctypes
import os
import sys
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

NAME = "libgomp.so.1"
PATHS = "LD_LIBRARY_PATH"


def find_openmp() -> None:
    """Starts this program anew, with the same arguments and process id, where only the wheel's library is there.

    The loader reads its paths when a program starts, so that setting them later helps nothing. Where there is
    neither library nothing happens, and importing the llama-server says what is missing.
    """
    if sys.platform != "linux" or _loads() or (folder := _of_wheel()) is None:
        return
    paths = os.environ.get(PATHS, "").split(os.pathsep)
    if str(folder) in paths:
        return  # it did not help
    more = {PATHS: os.pathsep.join(filter(None, [str(folder), *paths]))}
    # Its threads would wait for work on the processor for 200 ms, which the readers of the stream need.
    more["KMP_BLOCKTIME"] = os.environ.get("KMP_BLOCKTIME", "0")
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **more})


def _loads() -> bool:
    try:
        ctypes.CDLL(NAME)
    except OSError:
        return False
    return True


def _of_wheel() -> Path | None:
    try:
        found = [Path(str(file.locate())) for file in files("cmeel-libomp") or () if file.name == NAME]
    except PackageNotFoundError:
        return None
    return found[0].parent if found else None
