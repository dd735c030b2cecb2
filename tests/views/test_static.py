"""Static files: what the build compressed is taken as it is, everything else is compressed here."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from labhub_voice.static import ReadyCompressor

BUILT = Path(__file__).resolve().parents[2] / "static" / "build"


@pytest.fixture
def compressor() -> ReadyCompressor:
    return ReadyCompressor(quiet=True)


def test_a_hashed_file_gets_the_copies_of_the_plain_one(tmp_path: Path, compressor: ReadyCompressor) -> None:
    for name in ("python.wasm", "python.0123456789ab.wasm"):
        (tmp_path / name).write_bytes(b"x" * 1000)
    (tmp_path / "python.wasm.br").write_bytes(b"ready br")
    (tmp_path / "python.wasm.gz").write_bytes(b"ready gz")
    hashed = str(tmp_path / "python.0123456789ab.wasm")
    assert compressor.compress(hashed) == [f"{hashed}.br", f"{hashed}.gz"]
    assert Path(f"{hashed}.br").read_bytes() == b"ready br"
    assert Path(f"{hashed}.gz").read_bytes() == b"ready gz"
    compressor.compress(str(tmp_path / "python.wasm"))
    assert (tmp_path / "python.wasm.br").read_bytes() == b"ready br"


def test_other_files_are_compressed_here(tmp_path: Path, compressor: ReadyCompressor) -> None:
    path = tmp_path / "page.0123456789ab.css"
    path.write_bytes(b"y" * 1000)
    made = compressor.compress(str(path))
    assert gzip.decompress(Path(f"{path}.gz").read_bytes()) == b"y" * 1000
    assert f"{path}.gz" in made


@pytest.mark.skipif(not BUILT.is_dir(), reason="scripts/frontend has not run")
@pytest.mark.parametrize(
    ("name", "most"),
    [("read-sse.mjs", 150_000), ("rerun.mjs", 5_000), ("frame.mjs", 1_000), ("sandbox.mjs", 250_000)],
)
def test_a_bundle_keeps_within_its_budget(name: str, most: int) -> None:
    assert (BUILT / f"{name}.br").stat().st_size <= most
