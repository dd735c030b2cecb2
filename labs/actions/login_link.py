"""A link by which a person sets a password: once, within a week, and without any mail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from labs.actions.audit import record_all
from labs.actions.roster.accounts import not_own
from labs.models import Course, Enrolment, Role
from labs.models.audit import Verb


@dataclass(frozen=True, slots=True)
class LoginLink:
    """`path` is None where an instructor must not make one: the account is in somebody else's course too."""

    enrolment: Enrolment
    path: str | None


def login_links(course: Course, by: User, user_ids: Iterable[int] | None = None) -> list[LoginLink]:
    """For these students of the course, or for all who have no password yet. Links made before still hold.

    Whoever holds such a link is that person to the site, so accounts that others answer for get none.
    """
    students = (
        Enrolment.objects.active()
        .filter(course=course, role=Role.STUDENT, user__is_active=True)
        .select_related("user")
        .order_by("user__last_name", "user__first_name", "user__username")
    )
    if user_ids is not None:
        found = list(students.filter(user__in=list(user_ids)))
    else:
        found = [enrolment for enrolment in students if not enrolment.user.has_usable_password()]
    others = not_own(by, [enrolment.user for enrolment in found])
    if not by.is_staff:
        # Who had a password before they came into a course is nobody's to become: an admin may reset that.
        others |= {e.user_id for e in found if e.user.has_usable_password() and not e.made_account}
    links = [LoginLink(e, None if e.user_id in others else _path(e.user)) for e in found]
    named = [link.enrolment.user for link in links if link.path]
    record_all(Verb.LOGIN_LINK, by, [(user, "", {}) for user in named], course=course)
    return links


def _path(user: User) -> str:
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    return reverse("set-password", args=[uid, default_token_generator.make_token(user)])
