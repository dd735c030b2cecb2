"""What `first-sentence` checks, its hints, and the answers to choose from."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from labs.grading.claim import Claim
from labs.steps.three import ABBREVIATION, DECIMAL, KOREAN, LIST
from labs.text import N_

GUESSED = Claim("guessed", "ask", N_("You guessed how often three sentences are three"), 1)
WAIT_HINT = N_("A stop alone does not end a sentence. What has to follow it, and what would that settle?")
MARKS = {
    DECIMAL: Claim(
        "mark-decimal",
        "mark",
        N_("Where the voice may start: a decimal number"),
        1,
        (
            WAIT_HINT,
            N_("The dot between two digits belongs to the number. Look for the stop before the blank."),
        ),
    ),
    ABBREVIATION: Claim(
        "mark-abbreviation",
        "mark",
        N_("Where the voice may start: an abbreviation"),
        1,
        (
            WAIT_HINT,
            N_("The dots of a.m. and p.m. belong to the word, and the sentence goes on behind it."),
        ),
    ),
    LIST: Claim(
        "mark-list",
        "mark",
        N_("Where the voice may start: an item of a list"),
        1,
        (
            N_("What would the voice say if it started at the first dot?"),
            N_("The number is not the sentence."),
        ),
    ),
    KOREAN: Claim(
        "mark-korean",
        "mark",
        N_("Where the voice may start: Korean"),
        1,
        (WAIT_HINT, N_("The sentence ends with its stop; the next syllable belongs to the next one.")),
    ),
}
OWN = Claim(
    "mark-own",
    "ask",
    N_("Where the voice may start: your own recording"),
    1,
    (N_("Read the answer aloud. Where do you draw breath for the first time?"), WAIT_HINT),
)
BLANK = Claim(
    "blank",
    "mark",
    N_("Why one waits for the blank"),
    1,
    (N_("Compare the dots of 3.5 and of a.m. with the stop at the end."), WAIT_HINT),
)
STILL_CUTS = Claim(
    "still-cuts",
    "mark",
    N_("Where the handout's rule still cuts"),
    1,
    (
        N_(
            "Apply the rule by hand: find the first stop that a blank follows, and read what stands before it."
        ),
        N_("Look for a dot with a blank behind it that does not end a sentence."),
    ),
)
CAP = Claim(
    "cap",
    "ask",
    N_("The cap in tokens"),
    1,
    (
        N_("The cap must not cut the first sentence in two, and must not let the answer run on."),
        N_(
            "Count the tokens to the end of the first sentence and to the end of the third, or of the answer."
        ),
    ),
)
CLIP = Claim(
    "clip",
    "cap",
    N_("The clip in sentences"),
    1,
    (
        N_("How many sentences did the instruction ask for?"),
        N_("The clip is what your code does when the model writes more sentences than it was told to."),
    ),
)

# Why one waits; the form's choices, `inside` being right.
REASONS = [
    ("pause", _("The voice needs a short pause after every stop.")),
    ("inside", _("A stop may stand inside a number or an abbreviation; the blank tells that it does not.")),
    ("token", _("The model writes every blank as a token of its own, and that one is counted.")),
    ("server", _("The server sends its text only when a blank has been written.")),
]
