"""The change itself, in one transaction, with its rows in the audit."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from labs.actions.audit import record, record_all
from labs.actions.roster.change import Arrival, Change, Correction
from labs.actions.roster.plan import plan
from labs.models import Course, Enrolment, Role
from labs.models.audit import Verb
from labs.names import full_name
from labs.roster import Roster

AT_ONCE = 400


class Outdated(Exception):
    """The course is not as it was when the preview was made. Nothing was changed; `change` is what it would be now."""

    def __init__(self, change: Change) -> None:
        super().__init__()
        self.change = change


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
            Enrolment(
                user=arrival.user or next(fresh),
                course=course,
                number=arrival.listed.number,
                made_account=arrival.user is None,
            )
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
