"""What applying a roster would do. Nothing is written."""

from __future__ import annotations

from django.contrib.auth.models import User

from labs.actions.roster.accounts import Accounts, not_own
from labs.actions.roster.change import Arrival, Change, Correction
from labs.models import Course, Enrolment, Role
from labs.names import full_name
from labs.roster import Listed, RefusedLine, Roster, tidy
from labs.text import N_

SEVERAL = N_("More than one account has this e-mail address or login. Ask an admin.")
INSTRUCTOR = N_("This is an instructor of the course, and stays one.")


def plan(course: Course, roster: Roster, by: User) -> Change:
    """What applying the list would do. Five queries, and one more for every 400 people."""
    enrolments = {
        enrolment.user_id: enrolment
        for enrolment in Enrolment.objects.filter(course=course).select_related("user").order_by("pk")
    }
    accounts = Accounts(roster.people, enrolments.values())
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
