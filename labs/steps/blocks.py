"""A prompt made of blocks that can stand in any order: the rule, two lots of documents, the clock, the question."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from labs.steps.prompts import RULE
from labs.text import Json

RULE_BLOCK, FIRST, SECOND, CLOCK, QUESTION = "rule", "documents-1", "documents-2", "clock", "question"
BLOCKS = (RULE_BLOCK, FIRST, SECOND, CLOCK, QUESTION)
DOCUMENT_BLOCKS = (FIRST, SECOND)
# Where the clock stands, and the order that follows.
PLACES = {
    "front": (CLOCK, RULE_BLOCK, FIRST, SECOND, QUESTION),
    "between": (RULE_BLOCK, FIRST, SECOND, CLOCK, QUESTION),
    "end": (RULE_BLOCK, FIRST, SECOND, QUESTION, CLOCK),
}
# What a template may put around and behind the messages, in tokens; and a token is at least one byte.
TEMPLATE_TAIL = 32


@dataclass(frozen=True, slots=True)
class Layout:
    """`order` holds every block once; the same documents and question for every clock value."""

    order: Sequence[str]
    documents: Sequence[str]
    question: str

    def text(self, block: str, clock: str) -> str:
        half = (len(self.documents) + 1) // 2
        return {
            RULE_BLOCK: RULE,
            FIRST: "\n".join(self.documents[:half]),
            SECOND: "\n".join(self.documents[half:]),
            CLOCK: clock_line(clock),
            QUESTION: self.question,
        }[block]

    def messages(self, clock: str) -> tuple[dict[str, str], ...]:
        """What stands before the question is the system message; the question and what follows is the user's."""
        at = list(self.order).index(QUESTION)
        before, behind = self.order[:at], self.order[at:]
        return (
            {"role": "system", "content": "\n\n".join(self.text(b, clock) for b in before)},
            {"role": "user", "content": "\n\n".join(self.text(b, clock) for b in behind)},
        )

    @property
    def behind_clock(self) -> list[str]:
        """The document blocks that stand behind the clock."""
        at = list(self.order).index(CLOCK)
        return [block for block in self.order[at:] if block in DOCUMENT_BLOCKS]

    def tail_at_most(self, clock: str) -> int:
        """An upper bound, for any tokenizer, of the tokens behind the last document."""
        last = max(list(self.order).index(block) for block in DOCUMENT_BLOCKS)
        behind = "\n\n".join(self.text(block, clock) for block in self.order[last + 1 :])
        return len(behind.encode()) + TEMPLATE_TAIL


def clock_line(clock: str) -> str:
    return f"The clock on the wall says {clock}."


def draw_clocks(rng: random.Random) -> tuple[str, str]:
    """Two times of day that differ in both digits of the hour, so that they part at their first character."""
    first = rng.randrange(24)
    second = rng.choice([h for h in range(24) if h // 10 != first // 10 and h % 10 != first % 10])
    minute, later = rng.sample(range(60), 2)
    return f"{first:02}:{minute:02}:{rng.randrange(60):02}", f"{second:02}:{later:02}:{rng.randrange(60):02}"


def first_change(clock: str, other: str, tokens: Sequence[Json]) -> int:
    """Where two prompts with these clocks part: the token that holds the first differing character.

    `tokens` are those of the prompt with `clock`; without any, a guess.
    """
    at = next((i for i, (a, b) in enumerate(zip(clock, other, strict=True)) if a != b), 0)
    until = "".join(t["text"] for t in tokens).find(clock) + at
    end = 0
    for i, token in enumerate(tokens):
        end += len(token["text"])
        if end > until:
            return i
    return 10
