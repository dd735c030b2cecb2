"""A real lease, beaten by the real control thread, in a database of its own."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labs.measure.control import Control


@contextmanager
def beating(folder: Path, redis_url: str) -> Iterator[Control]:
    """The Control of a claimed run: its lease is beaten and its cancel flag read, as in the driver worker."""
    state = folder / "state"
    state.mkdir()
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "labhub_voice.settings",
        "LABHUB_DEMO": "1",
        "LABHUB_STATE_DIR": str(state),
        "REDIS_URL": redis_url,
    }
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from labs.actions.claim import claim_next
    from labs.actions.submit import submit
    from labs.actions.watch import Watch
    from labs.models import Course, Endpoint, Enrolment
    from labs.steps import all_steps
    from tests.actions.toy import ToyStep

    call_command("migrate", verbosity=0)
    step = ToyStep()
    all_steps()[step.key] = step
    course = Course.objects.create(slug="bench", title="Bench")
    user = User.objects.create_user("bench")
    Enrolment.objects.create(user=user, course=course)
    Endpoint.objects.create(name="bench", base_url="http://127.0.0.1:1", state=Endpoint.State.UP)
    submit(user, course, step, "one", {"say": "hello"}, uuid.uuid4())
    claim = claim_next("bench")
    assert claim is not None
    with Watch("bench").over(claim) as control:
        yield control
