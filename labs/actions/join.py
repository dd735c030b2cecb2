"""The code by which students enter a course by themselves: drawn, ended, and used."""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from labs.actions.audit import record
from labs.actions.errors import Refused
from labs.models import Course, Enrolment, JoinTry
from labs.models.audit import Verb
from labs.text import N_

# Without I, L, O, 0 and 1, which look like one another on a projector. Ten of these are 49 bits.
LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
LENGTH = 10
MOST_TRIES = 5
WINDOW = timedelta(minutes=10)


def draw_code(course: Course, days: int, by: User) -> str:
    """A new code that holds for so many days. The one before it is dead at once."""
    code = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
    with transaction.atomic():
        Course.objects.filter(pk=course.pk).update(
            join_code=code, join_code_ends_at=timezone.now() + timedelta(days=days)
        )
        record(Verb.CODE_DRAWN, by, course=course, days=days)
    return code


def end_code(course: Course, by: User) -> None:
    with transaction.atomic():
        Course.objects.filter(pk=course.pk).update(join_code="", join_code_ends_at=None)
        record(Verb.CODE_ENDED, by, course=course)


def shown(code: str) -> str:
    """'ABCDE-FGHJK'."""
    return f"{code[:5]}-{code[5:]}" if code else ""


def typed(text: str) -> str:
    """The code as it is stored, however it was typed."""
    return "".join(c for c in text.upper() if c in LETTERS)


def join(user: User, text: str) -> Course:
    """The user is a student of the course that has this code now. Raises Refused, also after too many tries."""
    now = timezone.now()
    JoinTry.objects.filter(user=user, at__lt=now - WINDOW).delete()
    # Noted before it is looked at, so that tries at the same moment count one another.
    this = JoinTry.objects.create(user=user)
    if JoinTry.objects.filter(user=user).count() > MOST_TRIES:
        this.delete()
        raise Refused(N_("That were too many wrong codes. Wait ten minutes, then try again."))
    code = typed(text)
    with transaction.atomic():
        course = (
            Course.objects.select_for_update()
            .filter(join_code=code, join_code_ends_at__gt=now)
            .filter(Q(ends_at=None) | Q(ends_at__gt=now))
            .first()
            if code
            else None
        )
        if course is None:
            raise Refused(
                N_("No course has this code now. Codes change: ask your instructor for the present one.")
            )
        enrolment, is_new = Enrolment.objects.get_or_create(user=user, course=course)
        if is_new:
            record(Verb.JOINED, user, course=course, whom=user)
        this.delete()
    if enrolment.left_at is not None:
        raise Refused(N_("You are marked as having left this course. Your instructor can take you in again."))
    return course
