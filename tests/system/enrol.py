"""`python -m tests.system.enrol`, with a site's own environment: students of the demo course who are logged in.

Reads a JSON list of [login, family name, given name] and writes {login: session}. Without passwords: hashing them is
no part of what is looked at.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence

import django

from tests.system.site import ROOT, Site


def enrol(site: Site, people: Sequence[Sequence[str]]) -> dict[str, str]:
    """`people`: login, family name and given name of each. Gives the session of each login."""
    environ = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "labhub_voice.settings",
        "LABHUB_DEMO": "1",
        "LABHUB_STATE_DIR": str(site.folder),
        "SECRET_KEY_FILE": str(site.folder / "secret_key"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.system.enrol"],
        cwd=ROOT,
        env=environ,
        input=json.dumps(people),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def main() -> None:
    django.setup()
    from django.contrib.auth.models import User
    from django.test import Client

    from labs.models import Course, Enrolment

    course = Course.objects.get()
    sessions = {}
    for login, family, given in json.load(sys.stdin):
        user = User.objects.create_user(login, last_name=family, first_name=given)
        Enrolment.objects.create(user=user, course=course)
        client = Client()
        client.force_login(user, "django.contrib.auth.backends.ModelBackend")
        sessions[login] = client.session.session_key
    print(json.dumps(sessions))


if __name__ == "__main__":
    main()
