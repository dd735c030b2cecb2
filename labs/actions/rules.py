"""Set a step's rules, and give one student more time or attempts. Each appends a row that says who and when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from labs.actions.audit import record
from labs.actions.board import changed as boards_changed
from labs.actions.errors import Refused
from labs.actions.grade import point_at_best
from labs.actions.notify import tell, tell_of_release
from labs.actions.storable import storable
from labs.models import Attempt, Course, Enrolment, Extension, Grade, Notice, Role, StepRule
from labs.models.audit import Verb
from labs.rules.clock import SkippedTime, add_days
from labs.steps import all_steps
from labs.steps.base import Step
from labs.terms import hides, rules_in_force, terms
from labs.text import N_

LONGEST_WHY = 500


@dataclass(frozen=True, slots=True)
class Given:
    """What an extension gives: `days` or `due_at` (not both), `extra_attempts`; None leaves it as it is."""

    days: int | None = None
    due_at: datetime | None = None
    extra_attempts: int | None = None

    @property
    def is_nothing(self) -> bool:
        return self.days is None and self.due_at is None and self.extra_attempts is None


def set_rule(rule: StepRule) -> StepRule:
    """Puts the new row in force. Whoever was late by the old rules and would not be by these loses that penalty;
    nobody gets one afterwards."""
    now = timezone.now()
    with transaction.atomic():
        old = rules_in_force([rule.course]).get((rule.course_id, rule.step))
        rule.release_told = not hides(rule.holds_scores, rule.release_at, now)
        rule.save(force_insert=True)
        _forgive(rule.course, [rule.step])
        record(Verb.RULES_SET, rule.by, course=rule.course, what=rule.step, rule=rule.pk)
        if rule.release_told and old is not None and _awaits_release(old):
            tell_of_release(rule.course_id, rule.step, rule.by)
        boards_changed(rule.course_id)  # what is held back is not on them
    return rule


def release_scores(course: Course, step: Step, by: User) -> bool:
    """Students see this step's points from now on. False where they do already."""
    rule = rules_in_force([course]).get((course.pk, step.key))
    if rule is None or not rule.holds_scores:
        return False
    was_held = _awaits_release(rule)
    rule.pk, rule.holds_scores, rule.release_at, rule.release_told, rule.by = None, False, None, True, by
    with transaction.atomic():
        rule.save(force_insert=True)
        record(Verb.RELEASED, by, course=course, what=step.key, rule=rule.pk)
        if was_held:  # else they have heard it: its time had come already
            tell_of_release(course.pk, step.key, by)
        boards_changed(course.pk)
    return True


def due_releases() -> QuerySet[StepRule]:
    """Their set time has come, and nobody was told."""
    return StepRule.objects.filter(holds_scores=True, release_told=False, release_at__lte=Now())


def release_at_its_time(rule: StepRule) -> None:
    """Tells it once, and on the open boards too; of a rule that another has replaced there is nothing to tell."""
    with transaction.atomic():
        told = StepRule.objects.filter(pk=rule.pk, release_told=False).update(release_told=True)
        if told and rules_in_force([rule.course])[rule.course_id, rule.step].pk == rule.pk:
            tell_of_release(rule.course_id, rule.step, None)
            boards_changed(rule.course_id)


def _awaits_release(rule: StepRule) -> bool:
    """Its points are held, or their time has come just now and the sweep has not told it yet."""
    return rule.holds_scores and not rule.release_told


def extend(course: Course, user: User, step: Step | None, given: Given, why: str, by: User) -> Extension:
    """More time or attempts for this student, at one step or, for None, at all. What they submitted late before is
    judged by it too. Raises Refused: not a student here, no reason, nothing given, a day that the clocks skip."""
    why = storable(why.strip())[:LONGEST_WHY]
    if not why:
        raise Refused(N_("Write why: the student reads it, and so does whoever looks at this later."))
    if given.is_nothing:
        raise Refused(N_("Give days, a due time or attempts."))
    if given.days is not None and given.due_at is not None:
        raise Refused(N_("Give days or a due time, not both."))
    if not Enrolment.objects.active().filter(course=course, user=user, role=Role.STUDENT).exists():
        raise Refused(N_("This person is not a student of the course."))
    if course.has_ended(timezone.now()):
        raise Refused(N_("The course has ended: nothing is taken any more. Its end has to be moved first."))
    steps = [step.key] if step is not None else list(all_steps())
    rules = rules_in_force([course])
    due = [rule for key in steps if (rule := rules.get((course.pk, key))) is not None and rule.due_at]
    if not due and given.extra_attempts is None:
        raise Refused(N_("There is no due time that could be later."))
    for rule in due if given.days else ():
        try:
            add_days(rule.due_at, given.days or 0, rule.zone)  # type: ignore[arg-type]  # those that are due
        except SkippedTime as error:
            raise Refused(error.text) from error
    with transaction.atomic():
        row = Extension.objects.create(
            course=course,
            user=user,
            step=step.key if step is not None else "",
            days=given.days,
            due_at=given.due_at,
            zone=course.zone,
            extra_attempts=given.extra_attempts,
            why=why,
            by=by,
        )
        _forgive(course, steps, user)
        record(Verb.EXTENDED, by, course=course, whom=user, what=row.step, extension=row.pk, why=why)
        tell(Notice.Kind.EXTENDED, user.pk, course.pk, row.step, by=by, details={"extension": row.pk})
    return row


def _forgive(course: Course, steps: Iterable[str], user: User | None = None) -> None:
    """Judges late attempts anew by when they were submitted. A penalty only ever falls. Inside a transaction."""
    late = Attempt.objects.filter(course=course, step__in=list(steps), late_percent__gt=0)
    if user is not None:
        late = late.filter(user=user)
    given: dict[int, list[Extension]] = defaultdict(list)
    for row in Extension.objects.filter(course=course, user__in=late.values("user")).order_by("-pk"):
        given[row.user_id].append(row)
    rules = rules_in_force([course])
    fallen: dict[int, list[UUID]] = defaultdict(list)
    changed: dict[str, set[int]] = defaultdict(set)
    for attempt in late:
        step = all_steps()[attempt.step]
        window = terms(course, step, rules.get((course.pk, step.key)), given[attempt.user_id]).window
        standing = window.standing(attempt.submitted_at)
        if standing.is_accepted and standing.percent < attempt.late_percent:
            fallen[standing.percent].append(attempt.pk)
            changed[attempt.step].add(attempt.user_id)
    for percent, ids in fallen.items():
        # Somebody may forgive more at the same time.
        Attempt.objects.filter(pk__in=ids, late_percent__gt=percent).update(late_percent=percent)
    for step_key, users in changed.items():
        grades = Grade.objects.filter(course=course, step=step_key, user__in=users)
        list(
            grades.select_for_update().order_by("pk").values_list("pk")
        )  # without a join, see `locked_grade`
        held = {grade.user_id: grade for grade in grades.select_related("event", "automatic")}
        point_at_best(course.pk, step_key, held, sorted(users))
