"""What `cache-reuse` checks, and its hints."""

from __future__ import annotations

from labs.grading.claim import Claim
from labs.text import N_

PREDICTED = Claim("predicted", "again", N_("You predicted before you saw"), 0)
WHY = Claim(
    "why",
    "again",
    N_("Why one token and not none"),
    3,
    (
        N_("What does the model need to choose the first token of its answer, and what does the cache hold?"),
        N_("The cache holds K and V. The scores of the next token come out of the prompt's last token only."),
    ),
)
EMPTIED = Claim(
    "emptied",
    "emptied",
    N_("The same prompt to an emptied slot"),
    4,
    (
        N_("What can the server compare the prompt with, once the slot is empty?"),
        N_("Nothing is left to skip, so all tokens of the prompt are computed: N of them."),
    ),
)
MORE = Claim(
    "more",
    "emptied",
    N_("What the emptying cost"),
    2,
    (
        N_("Two requests of your second round tell it: the repeat, and the one after the emptying."),
        N_("Take prompt_n of the repeat from that of the request after the emptying."),
    ),
)
WHERE = Claim(
    "where",
    "emptied",
    N_("Where the stored run's tokens came from"),
    1,
    (
        N_("Both servers had emptied their slots. What did only one of them have?"),
        N_("The theory names a second memory, and the flag that switches it off."),
    ),
)
