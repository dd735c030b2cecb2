"""As whom a socket is asked: its session's own person, or the student whose pages the session looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser, User

from labs.access import seen_person
from labs.actions.errors import NotFound
from labs.viewing import SESSION_KEY, held


@dataclass(frozen=True, slots=True)
class Seer:
    """`user` is asked for rights; the socket stays open by those of `session_user_id`."""

    user: User | AnonymousUser
    session_user_id: int | None
    viewing_id: int | None = None


def seer_of(scope: Mapping[str, Any]) -> Seer:
    """Raises NotFound where the session still looks as a student and may no longer: the page is one of those."""
    user, pk = scope["user"], scope["session"].get(SESSION_KEY)
    if user.is_anonymous or pk is None:
        return Seer(user, user.pk)
    viewing = held([pk]).get(pk)
    if viewing is None or viewing.by_id != user.pk:
        raise NotFound(str(pk))
    return Seer(seen_person(viewing), user.pk, viewing.pk)
