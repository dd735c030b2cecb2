"""Whether open sockets are still open by right: the person active, the session valid, the enrolment there."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from labs.live.follower import Claim
from labs.models import Enrolment, Role
from labs.viewing import SESSION_KEY as VIEWING
from labs.viewing import held

LOGGED_OUT = 4401
NOT_ENROLLED = 4403
NOT_FOUND = 4404


def ended(claims: Collection[Claim]) -> dict[Claim, int]:
    """The claims that hold no longer, with the code to close with. Three queries, however many claims, and one more
    where somebody looks as a student."""
    users = User.objects.in_bulk({claim.user_id for claim in claims})
    sessions = {
        session.session_key: session.get_decoded()
        for session in Session.objects.filter(
            session_key__in={claim.session_key for claim in claims}, expire_date__gt=timezone.now()
        )
    }
    roles = {
        (user_id, course_id): role
        for user_id, course_id, role in Enrolment.objects.active()
        .filter(user__in=users, course__in={claim.course_id for claim in claims})
        .values_list("user_id", "course_id", "role")
    }

    viewings = {claim.viewing_id for claim in claims if claim.viewing_id is not None}
    looking = held(viewings) if viewings else {}

    def code(claim: Claim) -> int | None:
        user = users.get(claim.user_id)
        session = sessions.get(claim.session_key, {})
        if user is None or not user.is_active or session.get(SESSION_KEY) != str(user.pk):
            return LOGGED_OUT
        if not constant_time_compare(session.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash()):
            return LOGGED_OUT
        if claim.viewing_id is not None:
            still = claim.viewing_id in looking and session.get(VIEWING) == claim.viewing_id
            return None if still else NOT_FOUND
        role = roles.get((claim.user_id, claim.course_id))
        may = (
            user.is_staff or role == Role.INSTRUCTOR or (role is not None and claim.user_id == claim.owner_id)
        )
        return None if may else NOT_ENROLLED

    return {claim: why for claim in claims if (why := code(claim)) is not None}


def teaching(claims: Collection[Claim]) -> set[tuple[int, int]]:
    """(user, course) of the claims whose person stands as an instructor there, as `labs.access.may_see` has it. Two
    queries, however many claims."""
    users = {claim.user_id for claim in claims}
    staff = set(User.objects.filter(pk__in=users, is_staff=True, is_active=True).values_list("pk", flat=True))
    instructors = Enrolment.objects.active().filter(
        user__in=users,
        user__is_active=True,
        course__in={claim.course_id for claim in claims},
        role=Role.INSTRUCTOR,
    )
    named = set(instructors.values_list("user_id", "course_id"))
    return named | {(claim.user_id, claim.course_id) for claim in claims if claim.user_id in staff}
