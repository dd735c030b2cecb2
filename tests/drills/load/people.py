"""The Django side of the load: the class, its answers, and the books at the end. Answers are made in a process of their
own, so that the one that stamps what its sockets receive is not held up."""

from __future__ import annotations

import os
import secrets
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Set
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import wraps
from multiprocessing import get_context
from typing import Any, ParamSpec, TypeVar

from tests.drills.classroom import wait_until

SETTLED_S = 120.0
AWAY_S = 60.0  # so long may the database be away in a drill that takes it away
ATTEMPTS = 10_000


P, T = ParamSpec("P"), TypeVar("T")


@dataclass(frozen=True, slots=True)
class Person:
    """`cookie` is a session from the day before; who has a password instead logs in."""

    name: str
    cookie: str = ""
    password: str = ""


def set_up(environ: Mapping[str, str]) -> None:
    import django

    os.environ.update(environ)
    django.setup()


def patient(ask: Callable[P, T]) -> Callable[P, T]:
    """Asks again where the database went away, with a new connection."""

    @wraps(ask)
    def again(*args: P.args, **kwargs: P.kwargs) -> T:
        from django.db import InterfaceError, OperationalError, connections

        until_s = time.monotonic() + AWAY_S
        while True:
            try:
                return ask(*args, **kwargs)
            except (InterfaceError, OperationalError):
                connections.close_all()
                if time.monotonic() > until_s:
                    raise
                time.sleep(0.2)

    return again


def make_class(students: int, logins: int) -> list[Person]:
    """Everybody is enrolled; the first `logins` of them have yet to log in. One password for all of those: hashing one
    takes a third of a second."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.hashers import make_password
    from django.contrib.auth.models import User
    from django.contrib.sessions.backends.db import SessionStore

    from labs.models import Course, Enrolment

    Course.objects.update(attempts_per_step=ATTEMPTS)
    course = Course.objects.get()
    password = secrets.token_hex(8)
    hashed = make_password(password)
    made = User.objects.bulk_create(
        [User(username=f"student-{number:04}", password=hashed) for number in range(students)]
    )
    Enrolment.objects.bulk_create([Enrolment(user=user, course=course) for user in made])
    people = [Person(user.username, password=password) for user in made[:logins]]
    for user in made[logins:]:
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.create()
        people.append(Person(user.username, cookie=f"{settings.SESSION_COOKIE_NAME}={session.session_key}"))
    return people


def wait_for_endpoints() -> None:
    """Until every canary has said its word."""
    from labs.models import Endpoint

    def settled() -> bool:
        return all(one.canaries and one.state == Endpoint.State.UP for one in Endpoint.objects.all())

    assert wait_until(settled, SETTLED_S), list(
        Endpoint.objects.values("name", "state", "detail", "canaries")
    )


def answers_process(environ: Mapping[str, str]) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, get_context("spawn"), initializer=set_up, initargs=(dict(environ),))


@patient
def answers(name: str, step_key: str) -> tuple[str, dict[str, Any]] | None:
    """The round that is open to this person and its right answers; None where none is open. For `answers_process`."""
    from django.contrib.auth.models import User

    from labs.models import Course
    from labs.sheets import sheet_for
    from labs.steps import all_steps

    sheet = sheet_for(User.objects.get(username=name), Course.objects.get(), all_steps()[step_key])
    if sheet.round is None:
        return None
    return sheet.round.key, dict(sheet.round.sample(sheet.challenge, sheet.seen, sheet.tokens))


def cpu_s() -> float:
    """Processor time of the process that answers."""
    return time.process_time()


def last_event(attempt: uuid.UUID) -> tuple[int, int] | None:
    """(run, seq) of the last event of the stream that a page is told; None where the stream is gone."""
    import redis as redis_
    from django.conf import settings

    from labs.live.events import NEWS, EventId, key_of
    from labs.live.redis_writer import connect

    with connect(settings.REDIS_URL) as client:
        try:
            found: Any = client.xrevrange(key_of(attempt), count=5)
        except redis_.RedisError:
            return None
    for raw_id, fields in found:
        if not {kind.decode() for kind in fields} & NEWS:
            event_id = EventId.parse(raw_id)
            return event_id.run, event_id.seq
    return None


@dataclass(frozen=True, slots=True)
class Books:
    problems: list[str]
    states: Counter[str]
    verdicts: Counter[str]
    outcomes: Counter[str]


@patient
def rounds_now() -> dict[uuid.UUID, uuid.UUID]:
    """The key of every round there is, and its attempt."""
    from labs.models import Round

    return dict(Round.objects.values_list("submit_key", "attempt_id"))


@patient
def read_books(
    submitted: Mapping[uuid.UUID, uuid.UUID], before: Mapping[uuid.UUID, uuid.UUID], stopped: Set[uuid.UUID]
) -> Books:
    """Once everybody rests. `submitted`: the key of every accepted POST and the attempt that its student saw; `before`:
    what others had submitted when the class came; `stopped`: attempts whose student pressed Stop."""
    from labs.models import Attempt, GradeEvent, Run
    from tests.drills import books

    others = set(before.values())
    attempts = Attempt.objects.exclude(pk__in=others)
    events = GradeEvent.objects.filter(kind=GradeEvent.Kind.AUTO, attempt__in=attempts)
    return Books(
        problems=[
            *books.problems({**before, **submitted}, others | stopped),
            *(
                f"attempt {pk} was stopped and is {state}"
                for pk, state in Attempt.objects.filter(pk__in=stopped).values_list("pk", "state")
                if state in {"queued", "running"}
            ),
        ],
        states=Counter(attempts.values_list("state", flat=True)),
        verdicts=Counter(check["verdict"] for event in events.iterator() for check in event.checks),
        outcomes=Counter(Run.objects.filter(attempt__in=attempts).values_list("outcome", flat=True)),
    )


@patient
def runs_recorded() -> int:
    from labs.models import Run

    return Run.objects.filter(outcome=Run.Outcome.RECORDED).count()
