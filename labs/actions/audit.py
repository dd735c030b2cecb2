"""Writing the audit: one row a change, in the transaction of the change itself."""

from __future__ import annotations

import contextvars
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from django.contrib.auth.models import AnonymousUser, User

from labs.actions.storable import storable
from labs.models import AuditRow, Course
from labs.models.audit import Verb
from labs.text import Json

LONGEST_WHAT = 300
AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Origin:
    """From where the present request comes, and whose pages it looks at; nothing of both for a worker."""

    address: str | None = None
    as_user_id: int | None = None


NOWHERE = Origin()
_origin: contextvars.ContextVar[Origin] = contextvars.ContextVar("origin", default=NOWHERE)


@contextmanager
def coming_from(origin: Origin) -> Iterator[None]:
    """What is recorded inside is recorded with this origin."""
    token = _origin.set(origin)
    try:
        yield
    finally:
        _origin.reset(token)


@contextmanager
def looking_as(user_id: int) -> Iterator[None]:
    """What is recorded inside is recorded as done while somebody looked at this person's pages."""
    with coming_from(replace(_origin.get(), as_user_id=user_id)):
        yield


def record(
    verb: Verb,
    by: User | AnonymousUser | None,
    *,
    course: Course | None = None,
    whom: User | None = None,
    what: str = "",
    **details: Json | str | int | list[str] | None,
) -> None:
    record_all(verb, by, [(whom, what, details)], course=course)


def record_all(
    verb: Verb,
    by: User | AnonymousUser | None,
    changes: Iterable[tuple[User | None, str, Json]],
    *,
    course: Course | None = None,
) -> None:
    """The same done to many, as (whom, what, details)."""
    origin, person = _origin.get(), by if isinstance(by, User) else None
    AuditRow.objects.bulk_create(
        [
            AuditRow(
                by=person,
                by_login=person.get_username() if person else "",
                as_user_id=origin.as_user_id,
                address=origin.address,
                verb=verb,
                course=course,
                whom=whom,
                whom_login=whom.get_username() if whom else "",
                what=storable(what)[:LONGEST_WHAT],
                details=storable(details),
            )
            for whom, what, details in changes
        ],
        batch_size=AT_ONCE,
    )
