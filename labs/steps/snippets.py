"""Four ways to end a turn with httpx, and what each does to the server (lab.md 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from labs.text import N_, Text

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, slots=True)
class Snippet:
    """`stops`: what it does, as measured. `said_right` and `said_wrong` answer a student's choice."""

    title: StrOrPromise
    code: str
    stops: bool
    claim: Text
    said_right: Text
    said_wrong: Text
    hints: Sequence[Text]


_OPEN = """client = httpx.Client()
request = client.build_request("POST", url, json=body)
response = client.send(request, stream=True)
"""

_RUNS_ON_HINTS = (
    N_("Does anything in this code close the connection?"),
    N_("The server learns of your leaving only from the connection. See how many tokens it wrote."),
)
_STOPS_HINTS = (
    N_("Does anything in this code close the connection?"),
    N_("Look at the slot after this one: is your task still there, and how many tokens does it hold?"),
)

SNIPPETS = {
    "break": Snippet(
        _("A: break out of the loop"),
        _OPEN
        + """lines = response.iter_lines()   # the iterator has a name
for line in lines:
    if barge_in():
        break
listen_to_the_user()            # `lines` and `response` live on
""",
        False,
        N_("break out of the loop"),
        N_(
            "Right: the iterator and the response live on, so the connection stays open and the server runs to its end."
        ),
        N_(
            "The loop ends, but the connection does not: here the server wrote all that it was allowed. Do not choose "
            "it."
        ),
        _RUNS_ON_HINTS,
    ),
    "stall": Snippet(
        _("B: stop reading"),
        _OPEN
        + """for line in response.iter_lines():
    speak(line)
    if barge_in():
        listen_to_the_user()    # meanwhile nobody reads
""",
        False,
        N_("stop reading"),
        N_("Right: nobody reads, but the connection is open, so the server goes on and keeps its slot."),
        N_(
            "Not reading is not closing: the slot was still busy with this request when we looked. Do not choose it."
        ),
        _RUNS_ON_HINTS,
    ),
    "close": Snippet(
        _("C: response.close()"),
        _OPEN
        + """for line in response.iter_lines():
    if barge_in():
        response.close()
        break
listen_to_the_user()
""",
        True,
        N_("response.close()"),
        N_("Right: closing the response closes the connection, and the server cancels the task."),
        N_(
            "Choose this one, too: it closes the connection. In your run the slot was free soon after, long before "
            "the answer's end."
        ),
        _STOPS_HINTS,
    ),
    "leave": Snippet(
        _("D: leave the with block"),
        """client = httpx.Client()
with client.stream("POST", url, json=body) as response:
    for line in response.iter_lines():
        if barge_in():
            break
listen_to_the_user()            # outside the block
""",
        True,
        N_("leave the with block"),
        N_("Right: the with block closes the response when it is left, whichever way."),
        N_(
            "Choose this one, too: leaving the with block closes the connection. In your run the slot was free soon "
            "after."
        ),
        _STOPS_HINTS,
    ),
}
