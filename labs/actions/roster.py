"""A roster into a course: what would change, and the change itself in one transaction. Nobody's work goes."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone

from labs.actions.audit import record, record_all
from labs.models import Course, Enrolment, Role
from labs.models.audit import Verb
from labs.names import full_name
from labs.roster import Listed, RefusedLine, Roster, tidy
from labs.text import N_

AT_ONCE = 400
SEVERAL = N_("More than one account has this e-mail address or login. Ask an admin.")
INSTRUCTOR = N_("This is an instructor of the course, and stays one.")


@dataclass(frozen=True, slots=True)
class Arrival:
    """Who is not in the course yet, or comes back. `user` is None where the account has to be made."""

    listed: Listed
    user: User | None
    enrolment: Enrolment | None = None


@dataclass(frozen=True, slots=True)
class Correction:
    """What the list says otherwise about someone in the course; None where it says the same or nothing."""

    enrolment: Enrolment
    name: str | None
    number: str | None
    email: str | None
    # The account is not this instructor's alone, so its name stays.
    kept_name: str | None = None

    @property
    def old_name(self) -> str:
        return full_name(self.enrolment.user)

    @property
    def told(self) -> dict[str, str]:
        """What changes, for the audit: 'old -> new' by field."""
        fields = {
            "name": (self.name, self.old_name),
            "number": (self.number, self.enrolment.number),
            "email": (self.email, self.enrolment.user.email),
        }
        return {key: f"{old} -> {new}" for key, (new, old) in fields.items() if new is not None}

    @property
    def is_empty(self) -> bool:
        return self.name is None and self.number is None and self.email is None


@dataclass(frozen=True, slots=True)
class Change:
    """`leaving` are the students whom the list does not name; `digest` is over all that would be written."""

    new: Sequence[Arrival]
    back: Sequence[Arrival]
    corrected: Sequence[Correction]
    other_names: Sequence[Correction]
    kept: int
    leaving: Sequence[Enrolment]
    refused: Sequence[RefusedLine]

    @property
    def digest(self) -> str:
        told = [
            [(a.listed.username, a.listed.name, a.listed.number, a.user and a.user.pk) for a in self.new],
            [(a.listed.name, a.listed.number, a.enrolment and a.enrolment.pk) for a in self.back],
            [(c.enrolment.pk, c.name, c.number, c.email) for c in self.corrected],
            [enrolment.pk for enrolment in self.leaving],
        ]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


class Outdated(Exception):
    """The course is not as it was when the preview was made. Nothing was changed; `change` is what it would be now."""

    def __init__(self, change: Change) -> None:
        super().__init__()
        self.change = change


def plan(course: Course, roster: Roster, by: User) -> Change:
    """What applying the list would do. Five queries, and one more for every 400 people."""
    enrolments = {
        enrolment.user_id: enrolment
        for enrolment in Enrolment.objects.filter(course=course).select_related("user").order_by("pk")
    }
    accounts = _Accounts(roster.people, enrolments.values())
    others = not_own(by, [*accounts.all, *(enrolment.user for enrolment in enrolments.values())])
    new, back, corrected, other_names, refused = [], [], [], [], list(roster.refused)
    seen: dict[int, int] = {}
    kept = 0
    for listed in roster.people:
        found = accounts.of(listed)
        if len(found) > 1:
            refused.append(RefusedLine(listed.row, listed.username, SEVERAL))
            continue
        user = found[0] if found else None
        if user is None:
            new.append(Arrival(listed, None))
            continue
        if user.pk in seen:
            why = N_("The same person as in row %(row)s.", row=seen[user.pk])
            refused.append(RefusedLine(listed.row, listed.username, why))
            continue
        seen[user.pk] = listed.row
        enrolment = enrolments.get(user.pk)
        if enrolment is None:
            new.append(Arrival(listed, user))
        elif enrolment.role == Role.INSTRUCTOR:
            refused.append(RefusedLine(listed.row, listed.username, INSTRUCTOR))
        elif enrolment.left_at is not None:
            back.append(Arrival(listed, user, enrolment))
        else:
            correction = _correction(enrolment, listed, may_rename=user.pk not in others)
            if correction.kept_name is not None:
                other_names.append(correction)
            if correction.is_empty:
                kept += 1
            else:
                corrected.append(correction)
    leaving = [
        enrolment
        for enrolment in enrolments.values()
        if enrolment.role == Role.STUDENT and enrolment.left_at is None and enrolment.user_id not in seen
    ]
    refused.sort(key=lambda line: line.row)
    return Change(new, back, corrected, other_names, kept, leaving, refused)


def apply(course: Course, roster: Roster, by: User, digest: str, *, let_go: bool) -> Change:
    """Writes what was previewed. `let_go`: whoever is not listed is marked as having left; nothing is deleted.

    Raises Outdated where that is no longer what the preview said.
    """
    try:
        with transaction.atomic():
            Course.objects.select_for_update().get(pk=course.pk)
            change = plan(course, roster, by)
            if change.digest != digest:
                raise Outdated(change)
            _write(course, change, let_go=let_go)
            _tell(course, change, by, let_go=let_go)
    except IntegrityError as error:  # somebody else made one of the accounts in this moment
        raise Outdated(plan(course, roster, by)) from error
    return change


def bring_back(course: Course, user_id: int, by: User) -> bool:
    """A student who was marked as having left takes part again, with all their work. False: there is no such one."""
    gone = Enrolment.objects.filter(course=course, user=user_id, role=Role.STUDENT, left_at__isnull=False)
    with transaction.atomic():
        if not gone.update(left_at=None):
            return False
        record(Verb.CAME_BACK, by, course=course, whom=User.objects.get(pk=user_id))
    return True


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


class _Accounts:
    """Who of the list has an account, by login, by address, and within the course by student number."""

    def __init__(self, people: Sequence[Listed], enrolments: Iterable[Enrolment]) -> None:
        self.all = list(_accounts({key for one in people for key in (one.login, one.email) if key}))
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


def _accounts(keys: set[str]) -> Iterator[User]:
    ordered = sorted(keys)
    lowered = User.objects.annotate(small_login=Lower("username"), small_email=Lower("email"))
    seen: set[int] = set()
    for first in range(0, len(ordered), AT_ONCE):
        some = ordered[first : first + AT_ONCE]
        for user in lowered.filter(Q(small_login__in=some) | Q(small_email__in=some)).order_by("pk"):
            if user.pk not in seen:
                seen.add(user.pk)
                yield user


def _correction(enrolment: Enrolment, listed: Listed, *, may_rename: bool) -> Correction:
    user = enrolment.user
    other_name = listed.name if listed.name and listed.name != tidy(full_name(user)) else None
    other_email = (
        listed.email if listed.email not in {"", user.email.lower(), user.username.lower()} else None
    )
    return Correction(
        enrolment,
        name=other_name if may_rename else None,
        number=listed.number if listed.number not in {"", enrolment.number} else None,
        email=other_email if may_rename else None,
        kept_name=None if may_rename else other_name,
    )


def _write(course: Course, change: Change, *, let_go: bool) -> None:
    made = User.objects.bulk_create(
        [
            User(
                username=arrival.listed.username,
                email=arrival.listed.email,
                first_name=arrival.listed.name,
                password=make_password(None),
            )
            for arrival in change.new
            if arrival.user is None
        ],
        batch_size=AT_ONCE,
    )
    fresh = iter(made)
    Enrolment.objects.bulk_create(
        [
            Enrolment(user=arrival.user or next(fresh), course=course, number=arrival.listed.number)
            for arrival in change.new
        ],
        batch_size=AT_ONCE,
    )
    _name_the_nameless(change.new)
    for arrival in change.back:
        assert arrival.enrolment is not None
        Enrolment.objects.filter(pk=arrival.enrolment.pk).update(
            left_at=None, number=arrival.listed.number or arrival.enrolment.number
        )
    for correction in change.corrected:
        _correct(correction)
    if let_go:
        for first in range(0, len(change.leaving), AT_ONCE):
            some = [enrolment.pk for enrolment in change.leaving[first : first + AT_ONCE]]
            Enrolment.objects.active().filter(pk__in=some, role=Role.STUDENT).update(left_at=timezone.now())


def _tell(course: Course, change: Change, by: User, *, let_go: bool) -> None:
    """The audit's rows, with what each was before."""
    logins = [arrival.listed.username for arrival in change.new if arrival.user is None]
    made = User.objects.in_bulk(logins, field_name="username")
    new = [arrival.user or made[arrival.listed.username] for arrival in change.new]
    record_all(Verb.ENROLLED, by, [(user, "", {}) for user in new], course=course)
    record_all(Verb.CAME_BACK, by, [(arrival.user, "", {}) for arrival in change.back], course=course)
    corrected = [(one.enrolment.user, "", one.told) for one in change.corrected]
    record_all(Verb.CORRECTED, by, corrected, course=course)
    if let_go:
        record_all(Verb.LEFT, by, [(one.user, "", {}) for one in change.leaving], course=course)


def _name_the_nameless(arrivals: Sequence[Arrival]) -> None:
    """An account that has a name keeps it: it may be known by it in another course."""
    for arrival in arrivals:
        if arrival.user is not None and arrival.listed.name and not full_name(arrival.user):
            User.objects.filter(pk=arrival.user.pk, is_staff=False).update(first_name=arrival.listed.name)


def _correct(correction: Correction) -> None:
    if correction.number is not None:
        Enrolment.objects.filter(pk=correction.enrolment.pk).update(number=correction.number)
    fields: dict[str, str] = {}
    if correction.name is not None:
        fields |= {"first_name": correction.name, "last_name": ""}
    if correction.email is not None:
        fields["email"] = correction.email
    if fields:
        User.objects.filter(pk=correction.enrolment.user_id).update(**fields)
