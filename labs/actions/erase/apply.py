"""The erasing: a transaction a student, so that it can be stopped anywhere and gone on with.

Each student's rows of the course move to a new account without a name, which nobody can log in to; the old account
goes with everything else that hangs on it, unless it is needed elsewhere.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterator, Mapping
from typing import Any

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import models, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from labs.actions.audit import record
from labs.actions.erase.plan import due_courses, kept_accounts, named
from labs.actions.erase.scrub import bare_check, numbers_of
from labs.actions.regrade.apply import cancel
from labs.models import (
    TERMINAL,
    Attempt,
    AuditRow,
    BoardEntry,
    BoardName,
    BoardState,
    Course,
    DemoRun,
    Enrolment,
    Extension,
    GradeEvent,
    Notice,
    RegradeRow,
    RegradeSet,
    Round,
)
from labs.models.audit import Verb
from labs.steps import all_steps

log = logging.getLogger(__name__)

STUDENTS_A_PASS = 5
# The sweep looks again so long after it found nothing that is due.
LOOK_EVERY_S = 600
ROWS_AT_ONCE = 500


def erase_some(course: Course, students: int = STUDENTS_A_PASS) -> int:
    """The next students of an ended course. How many it was; 0 when none can be erased now. One whose rows cannot be
    erased is logged and left, and keeps nobody else waiting."""
    for regrade in RegradeSet.objects.filter(course=course):
        if regrade.is_open:  # what it holds could not be applied any more
            cancel(regrade, by=None)
    busy = Attempt.objects.filter(course=course).exclude(state__in=TERMINAL).values("user")
    done = 0
    for enrolment in named(course).exclude(user__in=busy).select_related("user", "course"):
        try:
            done += _erase(enrolment)
        except Exception:
            log.exception("erasing: enrolment %s failed", enrolment.pk)
        if done == students:
            break
    return done


def finish(course: Course, by: User | None) -> bool:
    """What people wrote about the class as a whole goes last. False while a student still has a name."""
    with transaction.atomic():
        if named(course).exists():
            return False
        of_class = {"course": course}
        RegradeSet.objects.filter(**of_class).update(why="")
        GradeEvent.objects.filter(attempt__course=course).update(comment="")
        Extension.objects.filter(**of_class).update(why="")
        DemoRun.objects.filter(**of_class).update(note="")
        for row in AuditRow.objects.filter(**of_class).exclude(details={}):
            AuditRow.objects.filter(pk=row.pk).update(details=numbers_of(row.details))
        _forget_in_admin_log(Course, [course.pk], str(course))
        Course.objects.filter(pk=course.pk).update(erased_at=timezone.now())
        done = Enrolment.objects.filter(course=course, erased_at__isnull=False).count()
        record(Verb.ERASED, by, course=course, students=done)
    log.info("erasing: course %s is done, %d students", course.slug, done)
    return True


class Erasing:
    """The sweep's own: a few students a pass while a course is due, else a look now and then."""

    def __init__(self) -> None:
        self._look_at_s = 0.0

    def step(self) -> None:
        if time.monotonic() < self._look_at_s:
            return
        for course in due_courses(timezone.now()):
            if erase_some(course) or finish(course, by=None):
                return
        self._look_at_s = time.monotonic() + LOOK_EVERY_S


def _erase(enrolment: Enrolment) -> bool:
    """One student, in one transaction. False where somebody else was quicker."""
    user, course = enrolment.user, enrolment.course
    with transaction.atomic():
        ghost = User.objects.create(
            username=f"student-{secrets.token_hex(6)}", password=make_password(None), is_active=False
        )
        # The guard stands in the UPDATE.
        taken = Enrolment.objects.filter(pk=enrolment.pk, user=user, erased_at=None)
        if not taken.update(user=ghost, number="", erased_at=timezone.now()):
            transaction.set_rollback(True)
            return False
        _delete_words(user, course)
        _move(user, ghost, course)
        _strip(ghost, course)
        _forget_in_admin_log(Enrolment, [enrolment.pk], f"{ghost} {course}")
        if not kept_accounts(course).filter(pk=user.pk).exists():
            _delete_account(user, ghost)
    return True


def _delete_words(user: User, course: Course) -> None:
    """Answers, plans, recordings and frames; the name on the boards; news."""
    Round.objects.filter(attempt__user=user, attempt__course=course).delete()
    BoardName.objects.filter(user=user, course=course).delete()
    Notice.objects.filter(user=user, course=course).delete()


def _move(user: User, ghost: User, course: Course) -> None:
    """Everything of the course that names the student by their account: found by being there."""
    for model, field in _references():
        model._default_manager.filter(course=course, **{field: user}).update(**{field: ghost})
    rows = AuditRow.objects.filter(course=course)
    rows.filter(by=ghost).update(by_login=ghost.username, address=None)
    rows.filter(whom=ghost).update(whom_login=ghost.username)
    for state in BoardState.objects.filter(course=course, frozen__isnull=False):
        state.frozen = _renamed(state.frozen or {}, user.pk, ghost.pk)
        state.save(update_fields=["frozen"])


def _references() -> Iterator[tuple[type[models.Model], str]]:
    """Each of our tables that has a course, with each of its fields that is a person."""
    for model in apps.get_app_config("labs").get_models():
        fields = {field.name: field for field in model._meta.concrete_fields}
        if "course" in fields and model is not Enrolment:
            for name, field in fields.items():
                if field.related_model is User:
                    yield model, name


def _strip(ghost: User, course: Course) -> None:
    """Rows that stay, without a person's words."""
    mine = {"attempt__user": ghost, "attempt__course": course}
    Attempt.objects.filter(user=ghost, course=course).update(reason_detail="")
    RegradeRow.objects.filter(**mine).update(detail="", checks=None)
    Extension.objects.filter(user=ghost, course=course).update(why="")
    _rewrite(GradeEvent.objects.filter(**mine), "checks", lambda checks: [bare_check(one) for one in checks])
    GradeEvent.objects.filter(**mine).update(comment="")
    _rewrite(BoardEntry.objects.filter(user=ghost, course=course), "detail", numbers_of)
    _rewrite(AuditRow.objects.filter(whom=ghost), "details", numbers_of)


def _rewrite(rows: QuerySet[Any], field: str, by: Any) -> None:
    for pk, value in list(rows.values_list("pk", field)):
        rows.model._default_manager.filter(pk=pk).update(**{field: by(value)})


def _delete_account(user: User, ghost: User) -> None:
    """With what names it elsewhere: the audit outside the course, logins, and the admin pages' own log."""
    name = user.get_username()
    for row in AuditRow.objects.filter(Q(by=user) | Q(whom=user) | Q(as_user=user)):
        if row.by_id == user.pk:
            row.by, row.by_login, row.address = ghost, ghost.username, None
        if row.whom_id == user.pk:
            row.whom, row.whom_login = ghost, ghost.username
        if row.as_user_id == user.pk:
            row.as_user = ghost
        row.what = row.what if row.what in all_steps() else ""
        row.details = numbers_of(row.details)
        row.save()
    for table in (AccessLog, AccessAttempt, AccessFailureLog):
        table.objects.filter(username__iexact=name).delete()
    _forget_in_admin_log(User, [user.pk], str(ghost))
    user.delete()


def _forget_in_admin_log(model: type[models.Model], pks: list[int], name: str) -> None:
    rows = LogEntry.objects.filter(
        content_type=ContentType.objects.get_for_model(model), object_id__in=[str(pk) for pk in pks]
    )
    rows.update(object_repr=name, change_message="")


def _renamed(frozen: Mapping[str, Any], old: int, new: int) -> dict[str, Any]:
    places = [
        {**place, "user_id": new} if place["user_id"] == old else place for place in frozen.get("places", ())
    ]
    return {**frozen, "places": [{**place, "detail": numbers_of(place["detail"])} for place in places]}
