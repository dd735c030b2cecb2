"""What `barge-in` checks, and its hints."""

from __future__ import annotations

from labs.grading.claim import Claim
from labs.steps import snippets
from labs.text import N_

CUT_WRITING = Claim("cut-writing", "cut", N_("The short prompt, closed after half a second"), 2)
CUT_READING = Claim("cut-reading", "cut", N_("The long prompt, closed after half a second"), 2)
SAVED = Claim(
    "saved",
    "cut",
    N_("What closing saved"),
    2,
    (
        N_("The slot holds the prompt and what was written of the answer."),
        N_("Written = tokens in the slot - N. Saved = 200 - written."),
    ),
)
CHOICES = {
    key: Claim(f"stop-{key}", "stop", snippet.claim, 1, snippet.hints)
    for key, snippet in snippets.SNIPPETS.items()
}
