"""Sentences of an answer, and when each was certain (DESIGN 7): the graded rule beside the handout's.

The graded rule. A stop (. ? ! and full-width ones) with what closes it (more stops, quotes, brackets,
Markdown's marks, emoji) ends a sentence when white space follows. Except:
- inside numbers, versions, money and clocks, where no white space follows the dot;
- after a title, an abbreviation or an initial (`words` has the lists and the choice for 'a.m.');
- after the number of a list item: one or two digits, or a small letter, in front of the text;
- after `...`, or a closing quote or bracket, where a lowercase word goes on.

Without white space, 。！？ end a sentence, and any stop between two Hangul (or other CJK) letters does; a
quotation that a particle follows goes on, and so does a pause (`...`).

A blank line ends a sentence. A single newline ends the line of a list item or a heading, and a new item ends
what stood before it, unless that ended in a colon; any other single newline is a wrap. The end of the stream
ends the rest. A piece without a letter or digit is no sentence, and what stands in think tags is not there.
"""

from __future__ import annotations

from collections.abc import Iterable

from labs.measure.sentences.scanner import Scanner
from labs.measure.sentences.sentence import SENTENCE_RULE_VERSION, EndedBy, Sentence
from labs.measure.sentences.teaching import TeachingScanner
from labs.measure.sentences.thinking import without_thoughts

__all__ = [
    "SENTENCE_RULE_VERSION",
    "EndedBy",
    "Scanner",
    "Sentence",
    "TeachingScanner",
    "clip",
    "first_sentence",
    "split",
    "split_pieces",
    "teaching_first",
    "tokens_to_sentence",
]


def split(text: str) -> list[Sentence]:
    """Of a whole answer; all times are 0."""
    return split_pieces([(text, 0)])


def split_pieces(pieces: Iterable[tuple[str, int]], *, ended: bool = True) -> list[Sentence]:
    """`pieces` are (text, at_us). `ended`: the stream ended by itself, not by a cut or by `max_tokens`."""
    return _scan(Scanner(), pieces, ended)


def first_sentence(pieces: Iterable[tuple[str, int]], *, ended: bool = True) -> Sentence | None:
    """Of (text, at_us) pieces. At the end of the stream its time is that of the last piece with text."""
    return next(iter(split_pieces(pieces, ended=ended)), None)


def teaching_first(pieces: Iterable[tuple[str, int]], *, ended: bool = True) -> Sentence | None:
    """As `first_sentence`, by the handout's rule."""
    return next(iter(_scan(TeachingScanner(), pieces, ended)), None)


def clip(text: str, n: int) -> str:
    """At most `n` sentences of an answer, without thoughts: what the client's code cuts before it speaks."""
    shown = without_thoughts(text)
    kept = split(shown)[: max(n, 0)]
    return shown[: kept[-1].end].strip() if kept else ""


def tokens_to_sentence(pieces: Iterable[tuple[str, int]], n: int, *, ended: bool = True) -> int | None:
    """Tokens of the shortest row of pieces that holds the whole of the `n`th sentence (from 1).

    `pieces` are (text, tokens). None where the answer has fewer sentences.
    """
    pieces = list(pieces)
    sentences = split_pieces([(text, 0) for text, _ in pieces], ended=ended)
    if not 1 <= n <= len(sentences):
        return None
    chars = tokens = 0
    for text, cost in pieces:
        if chars >= sentences[n - 1].end:
            break
        chars, tokens = chars + len(text), tokens + cost
    return tokens


def _scan(
    scanner: Scanner | TeachingScanner, pieces: Iterable[tuple[str, int]], ended: bool
) -> list[Sentence]:
    found: list[Sentence] = []
    last_us = 0
    for text, at_us in pieces:
        if text:
            last_us = at_us
        found += scanner.feed(text, at_us)
    return found + scanner.finish(last_us) if ended else found
