"""Read side of pairs: with whom a student measures, which inputs the two share, and whose run can still be joined."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Count, Max, Q, QuerySet

from labs.models import LIVE, Attempt, Course, Enrolment, Pair, PairMember, Role, State


@dataclass(frozen=True, slots=True)
class Partnership:
    """One student's side of a pair that lasts."""

    pair: Pair
    partner: User


def partnership_of(user: User, course: Course) -> Partnership | None:
    """None where nobody is in it with them, or the partner takes part no longer. At most two queries."""
    part = (
        PairMember.objects.filter(user=user.pk, course=course, ended_at=None).select_related("pair").first()
    )
    if part is None:
        return None
    studies = Q(user__enrolments__course=course, user__enrolments__left_at=None, user__is_active=True)
    other = (
        PairMember.objects.filter(studies, pair=part.pair_id, ended_at=None)
        .exclude(user=user.pk)
        .select_related("user")
        .first()
    )
    return None if other is None else Partnership(part.pair, other.user)


def invitations(course: Course) -> QuerySet[Pair]:
    """Those that wait for an answer."""
    return Pair.objects.filter(course=course, began_at=None, ended_at=None).select_related("by", "invites")


def free_students(course: Course) -> list[User]:
    """Students who are in no pair, by name."""
    taken = PairMember.objects.filter(course=course, ended_at=None)
    students = Enrolment.objects.active().filter(course=course, role=Role.STUDENT, user__is_active=True)
    rows = students.exclude(user__in=taken.values("user")).select_related("user")
    return [row.user for row in rows.order_by("user__last_name", "user__first_name", "user__username")]


def number_of_next(together: Partnership, step_key: str) -> int:
    """Which of the pair's inputs an attempt has that begins now: those of the partner's attempt while nothing of it
    was measured, else new ones. Like a student's own, they come again after an attempt that was not charged."""
    of_step = Attempt.objects.filter(pair=together.pair, step=step_key)
    theirs = (
        of_step.filter(user=together.partner, state__in=LIVE)
        .annotate(n_runs=Count("runs"))
        .filter(Q(state=State.QUEUED) | Q(state=State.OPEN), n_runs=0)
        .first()
    )
    if theirs is not None and theirs.state == State.QUEUED and theirs.partner_until is None:
        theirs = None  # it waits for a server already: its answers are not waited for any more
    if theirs is not None:
        return theirs.pair_number
    last = of_step.filter(charged=True).aggregate(last=Max("pair_number"))["last"]
    return 0 if last is None else last + 1


def host_of(pair: Pair, partner: User, step_key: str, pair_number: int, round_number: int) -> Attempt | None:
    """The partner's attempt that waits with this very round for one's answers."""
    return (
        Attempt.objects.filter(
            pair=pair,
            user=partner,
            step=step_key,
            pair_number=pair_number,
            state=State.QUEUED,
            partner_until__isnull=False,
            cancel_requested=False,
        )
        .annotate(n_rounds=Count("rounds"))
        .filter(n_rounds=round_number)
        .first()
    )


def may_still_come(pair: Pair, partner: User, step_key: str, pair_number: int, round_number: int) -> bool:
    """Whether the partner could lock this round too: at its beginning with no attempt under way, later with the
    attempt that has come as far."""
    theirs = Attempt.objects.filter(user=partner, course=pair.course_id, step=step_key, state__in=LIVE)
    live = theirs.annotate(n_rounds=Count("rounds")).first()
    if live is None:
        return round_number == 1
    return (
        live.pair_id == pair.pk
        and live.pair_number == pair_number
        and live.state == State.OPEN
        and vars(live)["n_rounds"] == round_number - 1
    )
