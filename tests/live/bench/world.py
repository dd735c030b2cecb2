"""A database with running attempts, and an instructor who is logged in and may watch them all."""

from __future__ import annotations

from typing import Any

import django
from django.conf import settings


def make_world(attempts: int) -> dict[str, Any]:
    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.test import Client
    from django.utils import timezone

    from labs.models import Attempt, Course, Enrolment, Role, State

    call_command("migrate", verbosity=0)
    course = Course.objects.create(slug="bench", title="Bench")
    watcher = User.objects.create_user("watcher")
    Enrolment.objects.create(user=watcher, course=course, role=Role.INSTRUCTOR)
    ids = []
    for number in range(attempts):
        student = User.objects.create_user(f"student-{number}")
        Enrolment.objects.create(user=student, course=course)
        attempt = Attempt.objects.create(
            course=course,
            user=student,
            step="bench",
            step_version=1,
            seed_number=0,
            state=State.RUNNING,
            changed_at=timezone.now(),
        )
        ids.append(str(attempt.pk))
    client = Client()
    client.force_login(watcher, "django.contrib.auth.backends.ModelBackend")
    cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    return {"attempts": ids, "cookie": cookie}
