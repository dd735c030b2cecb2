"""The lab line: random letters in front of a comparison group's prompts, so that cold is cold (DESIGN
6.4)."""

from __future__ import annotations

import random
from collections.abc import Callable
from string import ascii_lowercase

TRIES = 60
GROUP = 3


class NoLabLine(Exception):
    """No line with that many tokens was found."""


def draw_lab_line(rng: random.Random, tokens: int, count: Callable[[str], int], unlike: str = "") -> str:
    """A line of its own, with its newline: lowercase letters in groups, `count(line) == tokens` exactly.

    `count` says how many tokens a line adds where it stands, which only the server's tokenizer knows. The
    first letter differs from that of `unlike` (the last run's line), hence so does the first token. Grows
    or shrinks one line letter by letter, starting again where that does not settle. Raises NoLabLine after
    TRIES counts.
    """
    letters = _start(rng, tokens, unlike)
    seen_short = seen_long = False
    for _ in range(TRIES):
        line = _grouped(letters)
        found = count(line)
        if found == tokens:
            return line
        seen_short, seen_long = (
            seen_short or found < tokens,
            seen_long or found > tokens,
        )
        if (seen_short and seen_long) or len(letters) <= 1:
            letters, seen_short, seen_long = _start(rng, tokens, unlike), False, False
        elif found < tokens:
            letters += rng.choice(ascii_lowercase)
        else:
            letters = letters[:-1]
    raise NoLabLine(f"no line of {tokens} tokens in {TRIES} tries")


def _start(rng: random.Random, tokens: int, unlike: str) -> str:
    first = rng.choice([c for c in ascii_lowercase if c != unlike[:1]])
    return first + "".join(rng.choices(ascii_lowercase, k=max(2 * tokens - 3, 0)))


def _grouped(letters: str) -> str:
    return " ".join(letters[i : i + GROUP] for i in range(0, len(letters), GROUP)) + "\n"
