"""The token diff: two templated prompts as boxes of whole characters, and where their common prefix ends."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from labs.measure.prefix import common_prefix, expected_cache
from labs.measure.prompt_pieces import BadPieces, unpack_pieces
from labs.measure.recording import Recording, RunRecord


@dataclass(frozen=True, slots=True)
class Box:
    """`text` is whole characters; `count` tokens from number `first` on make it, of which the first `shared` belong to
    the common prefix. `in_lab_line`: its first token belongs to the lab line."""

    text: str
    first: int
    count: int
    shared: int
    in_lab_line: bool = False

    @property
    def is_split(self) -> bool:
        """The common prefix ends inside this box: at a token's edge, but not at a character's."""
        return 0 < self.shared < self.count


@dataclass(frozen=True, slots=True)
class Diff:
    """`before` stood in the slot, `after` was sent next. `lcp` is their common prefix in tokens. `expected` is the
    `cache_n` of a sane server, low and high, both included."""

    before: Sequence[Box]
    after: Sequence[Box]
    lcp: int
    n_before: int
    n_after: int
    expected: tuple[int, int]

    @property
    def split(self) -> Box | None:
        """The box of `after` that the prefix ends inside of."""
        return next((box for box in self.after if box.is_split), None)

    @property
    def same(self) -> bool:
        return self.lcp == self.n_before == self.n_after


def boxes(pieces: Sequence[bytes], shared: int = 0, lab_line: range = range(0)) -> Iterator[Box]:
    """The smallest rows of tokens whose bytes are whole characters; broken bytes become U+FFFD."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text, first = "", 0
    for number, piece in enumerate(pieces):
        text += decoder.decode(piece, final=number == len(pieces) - 1)
        if not decoder.getstate()[0]:
            count = number + 1 - first
            yield Box(text, first, count, min(max(shared - first, 0), count), first in lab_line)
            text, first = "", number + 1


def diff(before: Recording, after: Recording, run: RunRecord, *, lab_line: bool, cache: bool) -> Diff | None:
    """Of two asks that followed one another in a slot; None where a recording does not know its prompt's pieces.

    `lab_line`: their prompts begin with the run's lab line. `cache`: the second one was allowed to use the cache.
    """
    try:
        pieces = unpack_pieces(before.prompt_pieces), unpack_pieces(after.prompt_pieces)
    except BadPieces:
        return None
    if not after.n or (len(pieces[0]), len(pieces[1])) != (before.n, after.n):
        return None
    lcp = common_prefix(before.prompt_ids, after.prompt_ids)
    head = run.head_tokens or 0
    line = range(head, head + run.lab_line_tokens) if lab_line else range(0)
    held = (*before.prompt_ids, *before.generated_ids)
    written = 0 if before.generated_ids else before.figures.predicted_n or 0
    return Diff(
        before=tuple(boxes(pieces[0], lcp, line)),
        after=tuple(boxes(pieces[1], lcp, line)),
        lcp=lcp,
        n_before=before.n,
        n_after=after.n,
        expected=expected_cache(after.prompt_ids, held, written, cache),
    )
