"""Twelve short documents about one invented place, in our own words, and questions that they answer.

Everyone gets the same documents; only their order is drawn. So everybody's prompt has the same number of tokens,
whatever the tokenizer. Each document is about 32 tokens of SmolLM2.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

DOCUMENTS: Sequence[str] = (
    (
        "The Lantern Library in Sandwick opens at nine in the morning from Tuesday to Saturday and closes at six. "
        "On Sunday and Monday it stays shut."
    ),
    (
        "A card is free for everyone who lives in Sandwick. Visitors can buy a day card at the front desk for two "
        "dollars and may read anything in the building."
    ),
    (
        "Readers may take eight books home at once and keep them for three weeks. A book that nobody else is waiting "
        "for can be renewed twice."
    ),
    (
        "The reading room on the second floor has forty seats beside tall windows. Talking is not allowed there, but "
        "tea in a closed cup is welcome."
    ),
    (
        "Old maps of the coast are kept in the cellar because it is cool and dry. Ask the keeper, Mr. Halloran, who "
        "unlocks the map room every Thursday."
    ),
    (
        "Children meet under the painted whale each Saturday at ten for a story hour. Parents can leave them there and "
        "return when the bell rings at eleven."
    ),
    (
        "The bookmobile is a green van that visits seven villages along the river. It stops in each village square for "
        "one hour every second Wednesday."
    ),
    (
        "Three printers stand next to the north stairs. A page in black costs ten cents, a page in color thirty, and "
        "the first five pages are free."
    ),
    (
        "The garden behind the library grows herbs named in famous books. Volunteers water it before noon, and anyone "
        "may pick a few leaves of mint."
    ),
    (
        "A fire in 1911 destroyed the first building. Sailors carried most of the books to a chapel, where they stayed "
        "until the new house was ready."
    ),
    (
        "Lost things are kept in a blue chest at the front desk for two months. After that, umbrellas are lent out to "
        "readers on rainy days."
    ),
    (
        "The library owns a small telescope that any card holder can borrow for one night. It comes with a red lamp, a "
        "star map and a wool blanket."
    ),
)

# One for each document, all of about the same length, so that whoever draws which has as many tokens to compute.
QUESTIONS: Sequence[str] = (
    "At what hour does the library open on Tuesday?",
    "How much does a visitor pay for a day card?",
    "How many weeks may a reader keep a book?",
    "On which floor can I find the reading room?",
    "On which day is the map room open?",
    "Where do the children meet for the story hour?",
    "What color is the van that visits the villages?",
    "How many printed pages are free for a reader?",
    "Which herb may anyone pick in the back garden?",
    "Where were the books carried after the big fire?",
    "Where are all the lost things kept for two months?",
    "What lamp comes with the telescope on a loan?",
)


def documents(rng: random.Random, count: int) -> list[str]:
    """The first `count` documents in an order of `rng`'s: the same set, hence the same tokens, for everyone."""
    chosen = list(DOCUMENTS[:count])
    rng.shuffle(chosen)
    return chosen


def question(rng: random.Random, count: int) -> str:
    """A question that one of the first `count` documents answers, with a reader's number that makes it one's own."""
    return f"Reader {rng.randrange(1000, 10_000)}: {rng.choice(QUESTIONS[:count])}"
