"""A ZIP file that is sent while it is made: it never lies anywhere as a whole."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from zipfile import ZIP_DEFLATED, ZipFile

# A file's name within, and its bytes in pieces.
Member = tuple[str, Iterable[bytes]]


class _Pipe(io.RawIOBase):
    """What was written since it was last taken. It cannot be gone back in, and ZipFile knows how to do without."""

    def __init__(self) -> None:
        super().__init__()
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]  # any buffer, typeshed says
        self._held += piece
        return len(piece)

    def take(self) -> bytes:
        taken = bytes(self._held)
        self._held.clear()
        return taken


def zipped(members: Iterable[Member]) -> Iterator[bytes]:
    """Holds no more than one piece, and the list of names."""
    pipe = _Pipe()
    with ZipFile(pipe, "w", ZIP_DEFLATED) as archive:
        for name, pieces in members:
            with archive.open(name, "w") as entry:
                for piece in pieces:
                    entry.write(piece)
                    if taken := pipe.take():
                        yield taken
            yield pipe.take()
    yield pipe.take()
