"""What `voice-turn` checks, and its hints."""

from __future__ import annotations

from labs.grading.claim import Claim
from labs.text import N_

GUESSED = Claim("guessed", "design", N_("You guessed what your layout computes"), 1)
VALID = Claim(
    "valid",
    "design",
    N_("Every turn holds what it needs"),
    2,
    (
        N_("Read each question and look for the document that answers it."),
        N_("In every turn the document that its question needs must ride along. Which turn lacks one?"),
    ),
)
HALF = Claim(
    "half",
    "design",
    N_("At most half of the reference layout"),
    4,
    (
        N_("From one turn to the next: what is the same, what changes, and which of them stands in front?"),
        N_(
            "Put what never changes in front: style and documents, the same ones in every turn. The clock changes, so "
            "let it stand behind the earlier turns."
        ),
    ),
)
SENTENCE = Claim(
    "sentence",
    "design",
    N_("The first sentence ends within the cap"),
    2,
    (
        N_("How many tokens does a short sentence of this model have? See the turns where it did end."),
        N_("Raise max_tokens, or ask for short sentences in the style line."),
    ),
)
MOUTH = Claim(
    "mouth",
    "design",
    N_("When the mouth opens, by counts"),
    1,
    (
        N_("Two things take time: reading the prompt tokens that are not in the cache, and writing."),
        N_("prompt_n = N - cache_n. Multiply it by 4.5 ms, the tokens written by 9 ms, and add."),
    ),
)
