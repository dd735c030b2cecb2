"""What `prefill` checks, and its hints."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from labs.grading.claim import Claim
from labs.text import N_

GUESSED = Claim("guessed", "small", N_("You guessed before you saw"), 2)
LINE = Claim("line", "small", N_("Two sizes that make a line"), 0)
PREDICTION = Claim(
    "prediction",
    "small",
    N_("The prediction for 12 documents"),
    4,
    (
        N_("Not the number of documents counts, but the number of prompt tokens that are computed."),
        N_(
            "Take the fastest run of each size: the difference in milliseconds over the difference in tokens, then go "
            "on to the tokens of 12 documents."
        ),
    ),
)
MEASURED = Claim("measured", "large", N_("Measured against predicted"), 0)
PER_DOCUMENT = Claim(
    "per-document",
    "large",
    N_("What one more document costs"),
    2,
    (
        N_(
            "The table has a fastest run with 4 documents and one with 12. How many documents lie between them?"
        ),
        N_("Subtract the two fastest TTFTs and divide by 8."),
    ),
)
WHY = Claim(
    "why",
    "large",
    N_("Why multiplying is wrong"),
    2,
    (
        N_("What stands in a prompt that has no document at all?"),
        N_("With 0 documents the TTFT was not 0. How often does multiplying by three count that part?"),
    ),
)

# What may be wrong with multiplying; the form's choices, `once` being right.
REASONS = [
    ("cache", _("The cache shortens long prompts, so a large one costs less than that.")),
    (
        "once",
        _("The rule, the question and the template are counted three times, but stand in the prompt once."),
    ),
    ("decode", _("The answer is three times as long as well, and that has to be added.")),
    ("nothing", _("Nothing is wrong with it: three times the documents, three times the time.")),
]
