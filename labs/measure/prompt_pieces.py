"""A prompt's tokens as they are kept: one compressed text, so that old runs can be read when no server can be asked.

Version 1, after base64 and zlib: one byte 1, then for each token a header `<H` (length) and its bytes. A piece need
not be whole UTF-8: a Korean syllable may be cut into two or three of them.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable

VERSION = 1

_LENGTH = struct.Struct("<H")


class BadPieces(Exception):
    """Not a text that `pack_pieces` wrote, or one of a version we do not know."""


def pack_pieces(pieces: Iterable[bytes]) -> str:
    payload = bytes([VERSION]) + b"".join(_LENGTH.pack(len(piece)) + piece for piece in pieces)
    return base64.b64encode(zlib.compress(payload, 9)).decode()


def unpack_pieces(packed: str) -> tuple[bytes, ...]:
    """() for "", which a recording without pieces has. Raises BadPieces."""
    if not packed:
        return ()
    try:
        payload = zlib.decompress(base64.b64decode(packed, validate=True))
    except (ValueError, zlib.error) as exc:
        raise BadPieces(str(exc)) from exc
    if payload[:1] != bytes([VERSION]):
        raise BadPieces("unknown format version")
    pieces, at = [], 1
    while at < len(payload):
        if at + _LENGTH.size > len(payload):
            raise BadPieces("cut short inside a length")
        (length,) = _LENGTH.unpack_from(payload, at)
        at += _LENGTH.size
        if at + length > len(payload):
            raise BadPieces("cut short inside a piece")
        pieces.append(payload[at : at + length])
        at += length
    return tuple(pieces)
