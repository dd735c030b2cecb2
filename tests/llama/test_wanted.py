"""The embedded server as an admin wants it: what its starter reads, and what it says of itself."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from labs.llama.flags import from_arguments, parser
from labs.llama.process import free_port
from labs.llama.wanted import Said, Wanted

LIMIT_S = 30.0


def test_what_is_written_is_read_and_anything_else_is_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "llama"
    assert (Wanted.read(folder), Said.read(folder)) == (Wanted(), Said())
    wanted, said = Wanted(3, True, "/m.gguf", 2, 4, 8192, 64), Said(3, 7, "started", argv=("--port", "1"))
    wanted.write(folder)
    said.write(folder)
    assert (Wanted.read(folder), Said.read(folder)) == (wanted, said)
    assert sorted(path.name for path in folder.iterdir()) == ["server.json", "wanted.json"]
    (folder / "wanted.json").write_text('{"number": 4, "of a later version": 1}')
    assert Wanted.read(folder) == Wanted(4)
    for broken in ("", "[]", "null", "{", '{"number": 1', "\x00"):
        (folder / "wanted.json").write_text(broken)
        assert Wanted.read(folder) == Wanted()


def test_wishes_go_before_arguments() -> None:
    got = parser().parse_args(["--port", "1", "--slots", "3", "--model", "/a.gguf"])
    flags = from_arguments(got, Wanted(1, model="/b.gguf", ctx=4096, batch=64))
    assert (flags.slots, flags.ctx, flags.batch, flags.model) == (3, 4096, 64, Path("/b.gguf"))


@contextmanager
def starter(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    words = ["-m", "labs.llama.embedded", "--port", str(free_port()), "--wanted", str(folder)]
    child = subprocess.Popen(
        [sys.executable, *words, "--die-with-parent", str(os.getpid())], stderr=subprocess.DEVNULL
    )
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def said(folder: Path, child: subprocess.Popen[bytes]) -> Said:
    until = time.monotonic() + LIMIT_S
    while not (found := Said.read(folder)).state:
        assert time.monotonic() < until, "it said nothing"
        assert child.poll() is None or Said.read(folder).state, "it ended and said nothing"
        time.sleep(0.02)
    return found


@pytest.mark.parametrize(
    ("wanted", "state"),
    [
        (Wanted(1, runs=False), "stopped"),
        (Wanted(2, model="/no/such.gguf"), "failed"),
        (Wanted(2, ctx=2_000_000_000), "failed"),
    ],
)
def test_stopped_or_failed_it_waits_to_be_asked_for_something_else(
    wanted: Wanted, state: str, tmp_path: Path
) -> None:
    wanted.write(tmp_path)
    with starter(tmp_path) as child:
        found = said(tmp_path, child)
        assert (found.state, found.number, found.pid) == (state, wanted.number, child.pid)
        assert bool(found.error) is (state == "failed")
        assert child.poll() is None
        child.terminate()
        assert child.wait(LIMIT_S) < 0  # at once, by the signal


def test_what_nobody_asked_for_ends_where_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABHUB_MODEL", "/no/such.gguf")
    with starter(tmp_path) as child:
        assert child.wait(LIMIT_S) == 2
        assert Said.read(tmp_path).state == "failed"
