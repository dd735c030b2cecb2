"""What `cache-break` checks, and its hints."""

from __future__ import annotations

from labs.grading.claim import Claim
from labs.text import N_

PREDICTION = Claim(
    "prediction",
    "guess",
    N_("Where the common prefix ends"),
    3,
    (
        N_("The server compares the two prompts token by token from the front. Where do they part?"),
        N_(
            "Compare the two times digit by digit: the first digit that differs is the first token that differs."
        ),
    ),
)
BREAK = Claim(
    "break",
    "guess",
    N_("A changed line in front breaks the cache"),
    5,
    (
        N_("Only what stands before the first difference can come from the cache."),
        N_("Let the clock line stand in front of everything, and give it two different times."),
    ),
)
OWN_FIGURES = Claim(
    "own-figures",
    "guess",
    N_("What the change cost"),
    2,
    (
        N_("prompt_n counts the tokens computed now."),
        N_("Take prompt_n of the changed prompt less that of the repeat."),
    ),
)
REPAIRED = Claim(
    "repaired",
    "repair",
    N_("The repaired layout"),
    5,
    (
        N_(
            "Which blocks are the same in both requests? They can come from the cache if they stand in front."
        ),
        N_("The clock is the only block that changes. Which blocks must stand before it?"),
    ),
)
