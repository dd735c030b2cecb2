"""The stored form of frames. The golden file is what an earlier release wrote; it is never rewritten."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.measure import frames
from labs.measure.frames import BadBlob, pack_frames, unpack_frames
from labs.measure.recording import Frame

GOLDEN = Path(__file__).parent / "golden"
GOLDEN_V1 = (
    Frame(4288, b'data: {"choices":[{"delta":{"role":"assistant","content":null}}]}\n\n'),
    Frame(32322, 'data: {"choices":[{"delta":{"content":"\uc548"}}]}\n\n'.encode()[:40]),
    Frame(32322, 'data: {"choices":[{"delta":{"content":"\uc548"}}]}\n\n'.encode()[40:]),
    Frame(2**40, b""),
    Frame(2**40 + 1, b"data: [DONE]\n\n"),
)


def test_golden_version_1_still_reads() -> None:
    assert unpack_frames((GOLDEN / "frames-v1.bin").read_bytes()) == GOLDEN_V1


def test_every_version_has_a_golden_file() -> None:
    assert {f"frames-v{n}.bin" for n in range(1, frames.VERSION + 1)} == {p.name for p in GOLDEN.iterdir()}
    assert set(frames.UPCASTERS) == set(range(1, frames.VERSION))


@given(st.lists(st.builds(Frame, st.integers(-1000, 2**50), st.binary(max_size=300))))
def test_what_is_packed_unpacks(found: list[Frame]) -> None:
    assert unpack_frames(pack_frames(found)) == tuple(found)


def test_a_repetitive_stream_packs_small() -> None:
    stream = [Frame(i * 9000, b'data: {"choices":[{"delta":{"content":"word"}}]}\n\n') for i in range(500)]
    assert len(pack_frames(stream)) < sum(len(f.data) for f in stream) / 5


@pytest.mark.parametrize(
    "blob",
    [b"", b"\x01", b"\x01nonsense", b"\x63" + pack_frames([])[1:], pack_frames(GOLDEN_V1)[:-3]],
    ids=["empty", "no payload", "no zlib", "unknown version", "cut short"],
)
def test_a_bad_blob_is_refused(blob: bytes) -> None:
    with pytest.raises(BadBlob):
        unpack_frames(blob)


def test_an_upcaster_lifts_an_older_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "VERSION", 2)
    monkeypatch.setattr(frames, "UPCASTERS", {1: lambda payload: payload + frames._HEAD.pack(7, 1) + b"!"})
    assert unpack_frames((GOLDEN / "frames-v1.bin").read_bytes()) == (*GOLDEN_V1, Frame(7, b"!"))
