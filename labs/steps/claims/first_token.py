"""What `first-token` checks, and its hints."""

from __future__ import annotations

from labs.grading.claim import Claim
from labs.text import N_, Text

PREDICTED = Claim("predicted", "predict", N_("You guessed before you saw"), 2)
FRAME = Claim(
    "frame",
    "predict",
    N_("The frame that ends the TTFT"),
    2,
    (
        N_("Look into each frame: which ones carry text that a person could read?"),
        N_("Role and progress frames have an empty content. Take the first one whose content is not empty."),
    ),
)
TOO_SHORT = Claim(
    "too-short",
    "predict",
    N_("What counting the role frame would hide"),
    2,
    (
        N_("Two frames matter: the first one with a role, and the first one with text."),
        N_("Subtract the time of the role frame from the time of the first text."),
    ),
)
QUEUED = Claim("queued", "mark", N_("The second request had to wait"), 0)
SPLIT_HINTS = (
    N_("The server sends its headers the moment a slot begins with the request."),
    N_("wait = headers - sent; prefill is a figure of the server; the rest is what remains of the TTFT."),
)
WAIT = Claim("wait", "mark", N_("The wait"), 1, SPLIT_HINTS)
PREFILL = Claim("prefill", "mark", N_("The prefill"), 1, SPLIT_HINTS)
REST = Claim("rest", "mark", N_("The rest"), 1, SPLIT_HINTS)
UNKNOWN = Claim(
    "unknown",
    "mark",
    N_("What prompt_ms does not know"),
    1,
    (
        N_("When does the server start its own clock?"),
        N_("It starts when the slot begins. What lies before that?"),
    ),
)


def why_off(part: str, said_ms: float) -> Text:
    """Where the figure of a part stands; `part` is the key of its claim."""
    match part:
        case WAIT.key:
            return N_(
                "You said %(said)s ms. The wait ends when the headers come: take the time of the headers since sent.",
                said=said_ms,
            )
        case PREFILL.key:
            return N_(
                "You said %(said)s ms. The prefill is the server's own figure: take prompt_ms of its timings.",
                said=said_ms,
            )
    return N_(
        "You said %(said)s ms. The rest is what remains of the TTFT: subtract the wait and the prefill from it.",
        said=said_ms,
    )


def why_not_first(picked: int, right: int | None) -> Text:
    """Both are places of frames; `right` is None where there is no visible text."""
    if right is not None and picked > right:
        return N_("There was visible text before the frame that you picked: look further up in the list.")
    return N_(
        "The frame that you picked has no visible text. Pick the first one whose content is text and not empty."
    )
