"""What `server-up` checks, and its hints."""

from __future__ import annotations

from labs.grading.claim import Claim
from labs.text import N_

SAVED = Claim("saved", "look", N_("The server's three answers"), 0)
SHARE = Claim(
    "share",
    "look",
    N_("What still fits into one conversation"),
    1,
    (
        N_("A server divides its context among its slots, and /props and /slots tell the share of one."),
        N_("Take the n_ctx of one slot, less the tokens that the conversation holds already."),
    ),
)
WAITING = Claim(
    "waiting",
    "look",
    N_("Who has to wait"),
    1,
    (
        N_("Each slot answers one request at a time. How many slots are there?"),
        N_("Whoever finds no free slot waits: the students less the slots."),
    ),
)
LOADING = Claim(
    "loading",
    "look",
    N_("A server that loads its model"),
    1,
    (
        N_("The process is up before its model is. What can it honestly say meanwhile?"),
        N_("The status is 503 with the words 'Loading model', and it turns into 200 by itself."),
    ),
)
FLAG = Claim(
    "flag",
    "look",
    N_("What keeps old prompts from coming back"),
    1,
    (
        N_("Look for the flag that is about the host's memory, not about the slots."),
        N_("The page names it where it says how this lab's server is started."),
    ),
)
LIMIT = Claim(
    "limit",
    "look",
    N_("Its limit, where nobody sets one"),
    1,
    (
        N_("The page gives it in MiB, beside the memory of LabHub's pod."),
        N_("It is 8 GiB. How many MiB is that?"),
    ),
)
