"""A reversible way to cut text into tokens, and the chat template. Pieces of words, digits, blanks, single bytes."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

START, END = "<|im_start|>", "<|im_end|>"
EOS_ID = 2
_SPECIAL = {START: 1, END: EOS_ID}
_FIRST_BYTE_ID = 3
_FIRST_PIECE_ID = 1_000
_PIECE_IDS = 1 << 30
_PIECES = re.compile(r"<\|im_(?:start|end)\|>| ?[A-Za-z]{1,7}|[\x00-\x7f]|[^\x00-\x7f]")

# The shape that the lab's small model has; the sentence is ours.
DEFAULT_SYSTEM = "You are a helpful voice that speaks without a model"
TEMPLATE = (
    "{% for message in messages %}{% if loop.first and message['role'] != 'system' %}"
    "{{ '<|im_start|>system\\n" + DEFAULT_SYSTEM + "<|im_end|>\\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


class Vocabulary:
    """Ids are the same in every process: a byte's own, or a hash of the piece. Pieces are remembered, so that ids can
    be turned back; two pieces with one hash get neighbouring ids."""

    def __init__(self) -> None:
        self._ids: dict[bytes, int] = {text.encode(): number for text, number in _SPECIAL.items()}
        self._ids |= {bytes([value]): _FIRST_BYTE_ID + value for value in range(256)}
        self._pieces = {number: piece for piece, number in self._ids.items()}

    def encode(self, text: str) -> list[int]:
        return [self._id(piece) for piece in _cut(text)]

    def piece(self, token_id: int) -> bytes:
        """The token's bytes; b"" for one that was never seen."""
        return self._pieces.get(token_id, b"")

    def decode(self, ids: Iterable[int]) -> str:
        return b"".join(self.piece(token_id) for token_id in ids).decode("utf-8", "replace")

    def _id(self, piece: bytes) -> int:
        found = self._ids.get(piece)
        if found is None:
            found = _FIRST_PIECE_ID + zlib.crc32(piece) % _PIECE_IDS
            while found in self._pieces:
                found += 1
            self._ids[piece], self._pieces[found] = found, piece
        return found


def _cut(text: str) -> Iterable[bytes]:
    for piece in _PIECES.findall(text):
        data = piece.encode("utf-8", "replace")
        if len(piece) == 1 and len(data) > 1:
            yield from (bytes([value]) for value in data)
        else:
            yield data


def render(messages: Sequence[Mapping[str, Any]]) -> str:
    """What TEMPLATE says."""
    system = (
        ""
        if not messages or messages[0].get("role") == "system"
        else f"{START}system\n{DEFAULT_SYSTEM}{END}\n"
    )
    said = "".join(f"{START}{m.get('role')}\n{_text(m.get('content'))}{END}\n" for m in messages)
    return f"{system}{said}{START}assistant\n"


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
