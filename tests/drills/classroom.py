"""A site as `scripts/run` starts it, with any number of endpoints and students, and Django here on its database."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.system.site import Site, wait_for

GREEN_S = 180.0


class Classroom:
    """`urls` are llama-servers that run already; none means the site's own embedded one.

    One at a time in a process: Django has one database. The process' environment is the site's from then on.
    """

    def __init__(
        self, folder: Path, urls: Sequence[str] = (), times: Mapping[str, str] | None = None
    ) -> None:
        own = {"LABHUB_ENDPOINT_URL": urls[0]} if urls else {}
        self.urls = urls
        self.site = Site(folder, {**own, **(times or {})})
        self._cookies: dict[str, str] = {}

    def start(self, students: int, attempts_per_step: int = 1000) -> list[str]:
        """Everything is up and every canary has said its word. Returns the students' names."""
        self.site.start()
        self._set_up_django()
        from labs.models import Course, Endpoint

        Course.objects.update(attempts_per_step=attempts_per_step)
        for number, url in enumerate(self.urls[1:], 2):
            Endpoint.objects.create(name=f"endpoint {number}", base_url=url)
        names = [f"student-{number:03}" for number in range(students)]
        for name in names:
            self._enrol(name)
        wait_for(lambda: self.unsettled() == 0, GREEN_S, lambda: repr(list(Endpoint.objects.values())))
        return names

    def stop(self) -> None:
        from django.db import connections

        connections.close_all()
        self.site.stop()

    def unsettled(self) -> int:
        """Endpoints of which nobody knows yet what they are good for."""
        from labs.models import Endpoint

        return sum(not one.canaries for one in Endpoint.objects.all())

    def cookie(self, name: str) -> str:
        return self._cookies[name]

    def _set_up_django(self) -> None:
        import django

        os.environ.update(
            {
                "DJANGO_SETTINGS_MODULE": "labhub_voice.settings",
                "LABHUB_DEMO": "1",
                "LABHUB_STATE_DIR": str(self.site.folder),
                "SECRET_KEY_FILE": str(self.site.folder / "secret_key"),
                "REDIS_URL": str(self.site.state["valkey_url"]) if "valkey_url" in self.site.state else "",
                "LABHUB_LOG_LEVEL": "ERROR",
            }
        )
        django.setup()

    def _enrol(self, name: str) -> None:
        """A session without a password: hashing hundreds of them would be the drill's longest part."""
        from django.conf import settings
        from django.contrib.auth.models import User
        from django.test import Client

        from labs.models import Course, Enrolment

        user = User.objects.create_user(name)
        Enrolment.objects.create(user=user, course=Course.objects.get())
        client = Client()
        client.force_login(user, "django.contrib.auth.backends.ModelBackend")
        self._cookies[name] = (
            f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
        )


@contextlib.contextmanager
def classroom(folder: Path, urls: Sequence[str] = (), **times: str) -> Iterator[Classroom]:
    room = Classroom(folder, urls, times)
    try:
        yield room
    finally:
        room.stop()


def wait_until(holds: Any, limit_s: float, every_s: float = 0.2) -> bool:
    """False when the limit passed first."""
    until = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(every_s)
    return True
