"""`python -m tests.system.model_answers`, with a site's own environment: the post of a student who understood.

Reads lines of `username step` and writes one JSON line each: {"round": key, "post": {...}, "challenge": ...}, or null
when no round waits for that student. The answers are each round's own `sample`, from the inputs that this student was
given.
"""

from __future__ import annotations

import json
import sys

import django


def main() -> None:
    django.setup()
    from django.contrib.auth.models import User
    from django.db import close_old_connections

    from labs.models import Course
    from labs.sheets import sheet_for
    from labs.steps import all_steps

    for line in sys.stdin:
        username, step_key = line.split()
        sheet = sheet_for(User.objects.get(username=username), Course.objects.get(), all_steps()[step_key])
        found = None
        if sheet.round is not None:
            post = sheet.round.sample(sheet.challenge, sheet.seen, sheet.tokens)
            found = {"round": sheet.round.key, "post": dict(post), "challenge": sheet.challenge}
        print(json.dumps(found), flush=True)
        close_old_connections()


if __name__ == "__main__":
    main()
