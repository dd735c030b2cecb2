"""Frames as they are stored: one compressed blob an ask, with a format version in its first byte.

Version 1, after zlib: for each frame a header `<qI` (at_us, length) and its bytes. A later version adds its
number, an upcaster from the one before, and a golden file in `tests/measure/golden/`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from labs.measure.recording import Frame

VERSION = 1
MAX_UNPACKED_BYTES = 64 * 1024 * 1024

_HEAD = struct.Struct("<qI")

# From a version to the next: the uncompressed payload of one to the payload of the other.
UPCASTERS: Mapping[int, Callable[[bytes], bytes]] = {}


class BadBlob(Exception):
    """Not a blob that `pack_frames` wrote, or one of a version we do not know."""


class FramesAbsent(Exception):
    """Somebody looked at frames that are not at hand: left unread, or purged."""


class AbsentFrames(tuple[Frame, ...]):
    """Stands where frames are not at hand. Looking at it raises FramesAbsent: it is not 'no frames came'."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Frame]:
        raise FramesAbsent

    def __len__(self) -> int:
        raise FramesAbsent

    def __getitem__(self, at: Any) -> Any:
        raise FramesAbsent


ABSENT = AbsentFrames()


def pack_frames(frames: Iterable[Frame]) -> bytes:
    payload = b"".join(_HEAD.pack(f.at_us, len(f.data)) + f.data for f in frames)
    return bytes([VERSION]) + zlib.compress(payload, 6)


def unpack_frames(blob: bytes) -> tuple[Frame, ...]:
    """Raises BadBlob."""
    if not blob:
        raise BadBlob("empty")
    version, payload = blob[0], _inflate(blob[1:])
    while version != VERSION:
        upcast = UPCASTERS.get(version)
        if upcast is None:
            raise BadBlob(f"unknown format version {version}")
        payload, version = upcast(payload), version + 1
    return tuple(_split(payload))


def _inflate(data: bytes) -> bytes:
    inflater = zlib.decompressobj()
    try:
        payload = inflater.decompress(data, MAX_UNPACKED_BYTES)
    except zlib.error as exc:
        raise BadBlob(str(exc)) from exc
    if not inflater.eof:
        raise BadBlob("cut short, or too large")
    return payload


def _split(payload: bytes) -> Iterable[Frame]:
    at = 0
    while at < len(payload):
        if at + _HEAD.size > len(payload):
            raise BadBlob("cut short inside a frame's head")
        at_us, length = _HEAD.unpack_from(payload, at)
        at += _HEAD.size
        if at + length > len(payload):
            raise BadBlob("cut short inside a frame")
        yield Frame(at_us, payload[at : at + length])
        at += length
