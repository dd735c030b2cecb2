"""Whose account a line of a roster means, and who answers for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from django.contrib.auth.models import User
from django.db.models import Q
from django.db.models.functions import Lower

from labs.models import Enrolment, Role
from labs.roster import Listed

AT_ONCE = 400


def not_own(by: User, users: Iterable[User]) -> set[int]:
    """Whose accounts `by` does not answer for alone: staff, who teach, who takes or took part in another's course.

    For staff only the first. Such a name stays as it is, and an instructor makes no login link for it.
    """
    users = list(users)
    staff = {user.pk for user in users if user.is_staff or user.is_superuser}
    if by.is_staff:
        return staff
    taught = Enrolment.objects.active().filter(user=by, role=Role.INSTRUCTOR).values("course")
    elsewhere = Enrolment.objects.filter(user__in=[user.pk for user in users]).exclude(
        course__in=taught, role=Role.STUDENT
    )
    return staff | set(elsewhere.values_list("user_id", flat=True))


class Accounts:
    """Who of the list has an account, by login, by address, and within the course by student number."""

    def __init__(self, people: Sequence[Listed], enrolments: Iterable[Enrolment]) -> None:
        self.all = list(
            _with_login_or_address({key for one in people for key in (one.login, one.email) if key})
        )
        self._by_login = {user.username.lower(): user for user in self.all}
        self._by_email: dict[str, list[User]] = defaultdict(list)
        for user in self.all:
            if user.email:
                self._by_email[user.email.lower()].append(user)
        self._by_number: dict[str, list[User]] = defaultdict(list)
        for enrolment in enrolments:
            if enrolment.number:
                self._by_number[enrolment.number].append(enrolment.user)

    def of(self, listed: Listed) -> list[User]:
        """More than one where the line could be either."""
        if listed.login and (user := self._by_login.get(listed.login)):
            return [user]
        if listed.email:
            found = {user.pk: user for user in self._by_email[listed.email]}
            if user := self._by_login.get(listed.email):
                found[user.pk] = user
            if found:
                return list(found.values())
        # A new address of somebody who is here: else they would begin anew, without their work.
        same = self._by_number[listed.number] if listed.number else []
        return same if len(same) == 1 else []


def _with_login_or_address(keys: set[str]) -> Iterator[User]:
    ordered = sorted(keys)
    lowered = User.objects.annotate(small_login=Lower("username"), small_email=Lower("email"))
    seen: set[int] = set()
    for first in range(0, len(ordered), AT_ONCE):
        some = ordered[first : first + AT_ONCE]
        for user in lowered.filter(Q(small_login__in=some) | Q(small_email__in=some)).order_by("pk"):
            if user.pk not in seen:
                seen.add(user.pk)
                yield user
