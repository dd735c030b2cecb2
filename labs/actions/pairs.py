"""Two students become a pair, and cease to be one. What was begun together goes on for each alone then."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from labs.actions.audit import record_all
from labs.actions.errors import NotFound, Refused
from labs.actions.join import MOST_TRIES, WINDOW
from labs.actions.storable import storable
from labs.actions.wake import wake_drivers_after_commit
from labs.models import Attempt, Course, Enrolment, JoinTry, Pair, PairMember, Role, State
from labs.models.audit import Verb
from labs.models.course import EnrolmentQuerySet
from labs.pairs import invitations, partnership_of
from labs.text import N_

TAKEN = N_("One of the two is in a pair already. That one has to end first.")
NOBODY = N_("No other student of this course has this login or student number.")
INVITED_AN_HOUR = 10


def invite(course: Course, by: User, written: str) -> Pair:
    """A student asks another, named by login or student number exactly. Raises Refused."""
    written = storable(written.strip())
    if partnership_of(by, course) is not None:
        raise Refused(TAKEN)
    now = timezone.now()
    recent = Pair.objects.filter(course=course, by=by, made_at__gt=now - timedelta(hours=1))
    guesses = JoinTry.objects.filter(user=by, at__gt=now - WINDOW)
    if recent.count() >= INVITED_AN_HOUR or guesses.count() >= MOST_TRIES:
        raise Refused(N_("You have asked many people in the last hour. Please wait a while."))
    found = list(
        _students(course)
        .filter(Q(user__username=written) | Q(number=written))
        .exclude(user=by)
        .select_related("user")[:2]
    )
    if not written or len(found) != 1:
        JoinTry.objects.create(user=by)
        raise Refused(NOBODY)
    try:
        with transaction.atomic():
            return Pair.objects.create(course=course, by=by, invites=found[0].user)
    except IntegrityError as error:
        raise Refused(N_("You have asked somebody already. Take that back first.")) from error


def accept(course: Course, user: User, pair_id: int) -> Pair:
    """Raises NotFound where nobody asked this person, Refused where one of the two has found another meanwhile."""
    pair = invitations(course).filter(pk=pair_id, invites=user).first()
    if pair is None or pair.by is None:
        raise NotFound(str(pair_id))
    with transaction.atomic():
        begun = Pair.objects.filter(pk=pair.pk, began_at=None, ended_at=None).update(began_at=Now())
        if not begun:
            raise NotFound(str(pair_id))
        _begin(pair, pair.by, user, user)
    return pair


def decline(course: Course, user: User, pair_id: int) -> None:
    """By who is asked, or by who asked. Raises NotFound."""
    mine = invitations(course).filter(Q(invites=user) | Q(by=user), pk=pair_id)
    if not mine.update(ended_at=Now()):
        raise NotFound(str(pair_id))


def make(course: Course, by: User, one: User, other: User) -> Pair:
    """An instructor's. Raises Refused."""
    if one.pk == other.pk:
        raise Refused(N_("A pair is two people."))
    with transaction.atomic():
        pair = Pair.objects.create(course=course, by=by, began_at=timezone.now())
        _begin(pair, one, other, by)
    return pair


def end(course: Course, pair_id: int, by: User) -> None:
    """Whoever waits for the partner's answers waits no longer. Raises NotFound."""
    with transaction.atomic():
        running = Pair.objects.filter(course=course, pk=pair_id, began_at__isnull=False, ended_at=None)
        if not running.update(ended_at=Now()):
            raise NotFound(str(pair_id))
        members = PairMember.objects.filter(pair=pair_id).select_related("user")
        members.update(ended_at=Now())
        _stop_waiting(Q(pair=pair_id))
        record_all(Verb.UNPAIRED, by, [(one.user, "", {"pair": pair_id}) for one in members], course=course)


def go_alone(attempt: Attempt) -> bool:
    """Runs without the partner's answers. False where it did not wait for them."""
    with transaction.atomic():
        return _stop_waiting(Q(pk=attempt.pk)) > 0


def _begin(pair: Pair, one: User, other: User, by: User) -> None:
    both = (one, other)
    if _students(pair.course).filter(user__in=both).count() != 2:
        raise Refused(N_("Both must be students of the course."))
    for user in both:
        _end_left(pair.course, user, by)
    try:
        with transaction.atomic():
            PairMember.objects.bulk_create(
                [PairMember(pair=pair, course=pair.course, user=user) for user in both]
            )
    except IntegrityError as error:
        raise Refused(TAKEN) from error
    # What else the two were asked is answered by this.
    invitations(pair.course).filter(Q(by__in=both) | Q(invites__in=both)).update(ended_at=Now())
    record_all(Verb.PAIRED, by, [(user, "", {"pair": pair.pk}) for user in both], course=pair.course)


def _end_left(course: Course, user: User, by: User) -> None:
    """A pair whose other one takes part no longer keeps nobody from a new one."""
    if partnership_of(user, course) is None:
        for part in PairMember.objects.filter(course=course, user=user, ended_at=None):
            end(course, part.pair_id, by)


def _students(course: Course) -> EnrolmentQuerySet:
    return Enrolment.objects.active().filter(course=course, role=Role.STUDENT, user__is_active=True)


def _stop_waiting(which: Q) -> int:
    """They stand in the queue from now on: nobody whom they let pass is put back."""
    waiting = Attempt.objects.filter(which, state=State.QUEUED, partner_until__isnull=False)
    found = waiting.update(partner_until=None, queued_at=Now(), version=F("version") + 1)
    if found:
        wake_drivers_after_commit()
    return found
