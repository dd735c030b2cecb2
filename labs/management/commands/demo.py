"""`manage.py demo`: a class to try things with. Only in demo mode, and as often as one likes."""

from __future__ import annotations

import json
import os
import secrets
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from labhub_voice import env
from labs.actions import managed
from labs.actions.endpoint import checked_address, forget_findings
from labs.llama import machine
from labs.llama.flags import BATCH
from labs.llama.wanted import Wanted
from labs.models import Course, Endpoint, Enrolment, Role

ENDPOINT_NAME = "demo"


class Person(NamedTuple):
    """`role` is a course role, or empty for the admin, who takes part in no course."""

    username: str
    family_name: str
    given_name: str
    role: str


PEOPLE = [
    Person("kim", "김", "민준", Role.STUDENT),
    Person("lee", "이", "서연", Role.STUDENT),
    Person("park", "박", "지호", Role.STUDENT),
    Person("choi", "최", "은영", Role.INSTRUCTOR),
    Person("admin", "", "", ""),
]


class Command(BaseCommand):
    help = "A demo course with people in it, and the llama-server they use. Prints the logins."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--endpoint", help="address of a llama-server, for example http://127.0.0.1:8080")
        parser.add_argument("--log", default="", help="its log file, where this machine can read it")

    def handle(self, *args: Any, endpoint: str | None, log: str, **options: Any) -> None:
        if not settings.DEMO:
            raise CommandError(
                "The demo class has known people in it: it exists in demo mode only (LABHUB_DEMO=1)."
            )
        passwords = kept_passwords(settings.STATE_DIR / "demo-logins.json")
        with transaction.atomic():
            course, _ = Course.objects.get_or_create(
                slug="demo", defaults={"title": "음성 비서 실습", "zone": "Asia/Seoul", "language": "ko"}
            )
            for person in PEOPLE:
                enrol(course, person, passwords[person.username])
            if endpoint:
                register(endpoint, log)
        for person in PEOPLE:
            what = person.role or "admin"
            self.stdout.write(f"  {person.username:6} {passwords[person.username]}   {what}")


def kept_passwords(path: Path) -> dict[str, str]:
    """Drawn once for each installation, and readable by its owner only."""
    try:
        found: dict[str, str] = json.loads(path.read_text())
    except FileNotFoundError:
        found = {person.username: secrets.token_hex(4) for person in PEOPLE}
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            json.dump(found, file)
    return found


def enrol(course: Course, person: Person, password: str) -> None:
    """A password that was changed since stays changed."""
    is_admin = not person.role
    user, created = User.objects.get_or_create(
        username=person.username,
        defaults={
            "first_name": person.given_name,
            "last_name": person.family_name,
            "is_staff": is_admin,
            "is_superuser": is_admin,
        },
    )
    if created:
        user.set_password(password)
        user.save()
    if person.role:
        Enrolment.objects.get_or_create(user=user, course=course, defaults={"role": person.role})


def register(url: str, log: str) -> None:
    """The embedded server has a new port at every start; what was found at the old one is forgotten then."""
    address = checked_address(url)
    known = Endpoint.objects.filter(base_url=address) or Endpoint.objects.filter(name=ENDPOINT_NAME)
    found = known.first() or Endpoint(name=ENDPOINT_NAME)
    if found.base_url != address or found.state == Endpoint.State.REMOVED:
        found.name, found.base_url = ENDPOINT_NAME, address
        forget_findings(found)
    found.log_path = log
    if log:  # the site's own server, so its flags are known
        wanted = Wanted.read(managed.folder())
        threads = wanted.threads or machine.threads().value
        found.facts = {**found.facts, "batch": wanted.batch or BATCH, "threads": threads}
    found.api_key = env.text("LABHUB_ENDPOINT_KEY", "")
    found.save()
