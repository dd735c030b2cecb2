"""What the page's bundle says, in the reader's language; %(name)s places are filled there."""

from __future__ import annotations

from django.utils.translation import gettext as _


def strings() -> dict[str, str]:
    return {
        "editor": _("sse.py, a code editor. Tab leaves it; Ctrl and ] indent a line."),
        "starting": _("Python is starting…"),
        "ready": _("Python %(version)s is ready."),
        "running": _("Your code is running…"),
        "then": _("Python is still starting. Your code will run first, then be sent."),
        "unsealed": _(
            "Python was not started: it is not sealed off from the network here (a header is missing on the way). "
            "Tell your instructor, and use a terminal meanwhile."
        ),
        "unavailable": _("Python does not start in this browser (%(why)s). Use a terminal instead."),
        "ran": _("Your code gave %(answers)s answers for %(streams)s streams."),
        "old": _("You have changed sse.py since it last ran."),
        "problem": _("sse.py did not run"),
        "stopped": _("stopped in line %(line)s: %(error)s"),
        "stopped_somewhere": _("stopped: %(error)s"),
        "endless": _("stopped after 2 s in line %(line)s: does this loop ever end?"),
        "endless_somewhere": _("stopped after 2 s: a loop never ends."),
        "killed": _(
            "Your code did not come back for 4 s, not even to be stopped in a line, so Python was started anew. Look "
            "for a loop or a regular expression that never ends."
        ),
        "not_run": _("not run"),
        "none": _("none"),
        "printed": _("Printed by your code"),
        "printed_cut": _("Printed by your code (cut: it printed too much)"),
        "trace": _("Where it stopped"),
        "results": _("What your code gave back"),
        "stream": _("Stream"),
        "row": _("Row"),
        "yes": _("yes"),
        "no": _("no"),
        "bad_file": _("This file could not be read as text."),
        "opened": _("%(name)s was opened."),
    }
