"""What ranks a voice turn: counts at a speed that is fixed for the board's class, so that a lucky moment ranks nobody.

cost = sum over turns of `prompt_n` * a + (tokens to the end of the first sentence) * b.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from labs.grading.turns import first_sentence_tokens
from labs.measure.plan import OUTPUT_MS_PER_TOKEN, PROMPT_MS_PER_TOKEN
from labs.measure.recording import Recording

VOICE_RANK_VERSION = 1
LEAST_WORDS, LEAST_LETTERS = 4, 12
_WORD = re.compile(r"[^\W_]+(?:['\u2019.-][^\W_]+)*")
_HANGUL = re.compile(r"[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]")


@dataclass(frozen=True, slots=True)
class Pace:
    """Milliseconds a token, of one class of endpoints: `read_ms` is a, `write_ms` is b. Fixed with the board."""

    read_ms: float = PROMPT_MS_PER_TOKEN
    write_ms: float = OUTPUT_MS_PER_TOKEN


def turn_ms(prompt_n: int, tokens: int, pace: Pace) -> float:
    """When the mouth opens in one turn, by counts alone."""
    return prompt_n * pace.read_ms + tokens * pace.write_ms


def says_enough(sentence: str) -> bool:
    """At least four words, or twelve letters where it is Korean: 'Yes.' is no answer to race with."""
    if _HANGUL.search(sentence):
        return sum(char.isalpha() for char in sentence) >= LEAST_LETTERS
    return len(_WORD.findall(sentence)) >= LEAST_WORDS


def may_rank(sentences: Sequence[str]) -> bool:
    """Every turn has a first sentence that says enough, and no two turns say the same."""
    said = {" ".join(_WORD.findall(sentence.casefold())) for sentence in sentences}
    return bool(said) and all(map(says_enough, sentences)) and len(said) == len(sentences)


def cost_ms(turns: Sequence[Recording], pace: Pace) -> float | None:
    """The ranked value of a whole conversation; None where it may not rank, or a count is missing."""
    if not may_rank([turn.figures.first_sentence for turn in turns]):
        return None
    total = 0.0
    for turn in turns:
        prompt_n, tokens = turn.figures.prompt_n, first_sentence_tokens(turn)
        if prompt_n is None or tokens is None:
            return None
        total += turn_ms(prompt_n, tokens, pace)
    return total
