"""Begin and end looking at a student's pages as the student sees them. Both stand in the audit."""

from __future__ import annotations

import logging

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from labs.access import may_see
from labs.actions.audit import looking_as, record
from labs.actions.errors import NotFound
from labs.actions.notify import tell
from labs.models import Course, Enrolment, Notice, Role, Viewing
from labs.models.audit import Verb
from labs.viewing import LASTS

log = logging.getLogger(__name__)


def begin(course: Course, user_id: int, by: User) -> Viewing:
    """For half an hour. The student is told. Raises NotFound: `by` does not teach here, or that is no student here."""
    part = (
        Enrolment.objects.active()
        .filter(course=course, user=user_id, role=Role.STUDENT)
        .filter(user__is_active=True, user__is_staff=False, user__is_superuser=False)
        .select_related("user")
        .first()
    )
    if part is None or part.user_id == by.pk or may_see(by, course) is not Role.INSTRUCTOR:
        raise NotFound(str(user_id))
    with transaction.atomic(), looking_as(user_id):
        viewing = Viewing.objects.create(by=by, whom=part.user, course=course, until=timezone.now() + LASTS)
        record(Verb.VIEW_BEGAN, by, course=course, whom=part.user, until=viewing.until.isoformat())
        tell(Notice.Kind.VIEWED, part.user_id, course.pk, by=by)
    return viewing


def end(viewing: Viewing) -> bool:
    """False: it had ended before."""
    with transaction.atomic(), looking_as(viewing.whom_id):
        ended_at = min(timezone.now(), viewing.until)
        if not Viewing.objects.filter(pk=viewing.pk, ended_at=None).update(ended_at=ended_at):
            return False
        record(Verb.VIEW_ENDED, viewing.by, course=viewing.course, whom=viewing.whom)
    return True


def overdue() -> QuerySet[Viewing]:
    """Those whose time ran out while nobody came back."""
    found = Viewing.objects.filter(ended_at=None, until__lt=timezone.now())
    return found.select_related("by", "whom", "course")
