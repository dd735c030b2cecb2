"""What it says: sentences in a fixed order that begins where the prompt's hash says, or a text of one's own."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from tests.fakellama.tokens import EOS_ID, Vocabulary

SENTENCES = (
    "The library opens at nine and closes at six.",
    "A short answer helps the listener most.",
    "On Mondays the reading room stays quiet until noon.",
    "You can borrow three books for two weeks.",
    "The map of the town hangs beside the door.",
    "Ask at the desk if a page is missing.",
    "Every visitor may use the garden behind the house.",
)
SENTENCES_AN_ANSWER = 4


def text_for(prompt: str) -> str:
    """One answer; the same prompt has the same one."""
    start = zlib.crc32(prompt.encode("utf-8", "replace")) % len(SENTENCES)
    return " ".join(SENTENCES[(start + i) % len(SENTENCES)] for i in range(SENTENCES_AN_ANSWER))


def tokens(words: Vocabulary, text: str, ignore_eos: bool) -> Iterator[tuple[int, bytes]]:
    """The text's tokens and the end, or with `ignore_eos` the text again and again. No text is an end at once."""
    ids = words.encode(text)
    once = [(token_id, words.piece(token_id)) for token_id in ids]
    yield from once
    if ignore_eos:
        again = words.encode(" " + text) or [EOS_ID + 1]
        more = [(token_id, words.piece(token_id)) for token_id in again]
        while True:
            yield from more
    yield EOS_ID, b""
