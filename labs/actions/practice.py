"""Practice: attempts that count nowhere, within a quota in machine-seconds, behind all graded ones."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from labs.actions.audit import record
from labs.actions.errors import Refused
from labs.models import Attempt, Course, Run, State
from labs.models.audit import Verb
from labs.practice import quota_of
from labs.rules.clock import written
from labs.rules.window import Door
from labs.sheets import Sheet
from labs.text import N_

SPOILT_AN_HOUR = 3
LONGEST_S = 30_000


def let_practise(sheet: Sheet) -> None:
    """Raises Refused where the course has no practice, and before the step opens: it shows what is asked. After the
    end and without attempts left there is practice still, for it counts nowhere."""
    if not sheet.course.practice_s:
        raise Refused(N_("This course has no practice."))
    now, window = timezone.now(), sheet.terms.window
    if window.standing(now).door is Door.EARLY and window.opens_at is not None:
        raise Refused(
            N_("This step opens at %(time)s. Nothing was sent.", time=written(window.opens_at, window.zone))
        )


def let_use_machine(sheet: Sheet) -> None:
    """Raises Refused once the student has used the quota up, or where servers keep spoiling their practice."""
    quota = quota_of(sheet.user, sheet.course)
    if quota.is_used_up:
        raise Refused(
            N_(
                "Your practice time in this course is used up: %(used)s of %(all)s machine-seconds. Nothing was sent. "
                "Graded attempts go on as before.",
                used=quota.used_s,
                all=quota.all_s,
            )
        )
    if sheet.attempt is None and (count := _spoilt(sheet)) >= SPOILT_AN_HOUR:
        raise Refused(
            N_(
                "The server spoilt %(count)s of your practice attempts here in the last hour. They cost you nothing, "
                "but please wait a while.",
                count=count,
            )
        )


def _spoilt(sheet: Sheet) -> int:
    """Practice attempts of the last hour at this step that cost no quota, though they used the machine."""
    of_server = [Run.Outcome.INCONCLUSIVE, Run.Outcome.DISTURBED]
    found = Attempt.objects.filter(
        Q(state=State.ERRORED) | Q(rounds__accepted_run__outcome__in=of_server),
        user=sheet.user,
        step=sheet.step.key,
        practice=True,
        finished_at__gt=timezone.now() - timedelta(hours=1),
    )
    return found.distinct().count()


def set_quota(course: Course, practice_s: int, by: User) -> None:
    """So many machine-seconds for each student from now on; what was used before counts."""
    with transaction.atomic():
        Course.objects.filter(pk=course.pk).update(practice_s=practice_s)
        record(Verb.RULES_SET, by, course=course, practice_s=practice_s, before=course.practice_s)
