"""Submit a round: lock the answers, freeze the plan, queue the attempt, and after the commit wake a worker."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from labs import tokens
from labs.actions.begin import begin_graded, begin_practice
from labs.actions.change import move
from labs.actions.errors import InvalidAnswers, NotFound, Refused
from labs.actions.grade import grade_without_run
from labs.actions.partner import OTHER_INPUTS, is_plan_of, take_place
from labs.actions.pauses import paused_everywhere
from labs.actions.practice import let_practise, let_use_machine
from labs.actions.wake import wake_drivers_after_commit
from labs.logs import bound
from labs.measure.plan import Plan
from labs.models import Attempt, Course, Endpoint, Round, State
from labs.rules.clock import written
from labs.rules.window import Door, Standing
from labs.sheets import Sheet, sheet_for
from labs.steps.base import Step, StepForm
from labs.text import N_, Json

log = logging.getLogger(__name__)

DEFAULT_ROOM = 4096


def submit(
    user: User,
    course: Course,
    step: Step,
    round_key: str,
    data: Mapping[str, Any],
    submit_key: UUID,
    agreed_percent: int = 0,
    *,
    practice: bool = False,
) -> Attempt:
    """Locks `round_key` with the posted answers. The same `submit_key` again finds the same attempt.

    An attempt is on time or late by when its first round arrives here, on this clock; `agreed_percent` is what the
    page said that it would lose by that. Its later rounds may come after the end: it was begun before.
    `practice`: what was on the page was practice, which is never late and counts nowhere.
    Raises InvalidAnswers (the form carries the errors), Refused (why, in a sentence) or NotFound.
    """
    if repeated := _repeated(user, submit_key):
        return repeated
    try:
        attempt = _submit(user, course, step, round_key, data, submit_key, agreed_percent, practice=practice)
    except (Refused, InvalidAnswers):
        # The same POST once more was first, at whatever moment: whoever lost shows what the winner made.
        if repeated := _repeated(user, submit_key):
            return repeated
        raise
    with bound(attempt=attempt.pk):
        log.info("round %s of %s is %s", round_key, step.key, attempt.state)
    return attempt


def _submit(
    user: User,
    course: Course,
    step: Step,
    round_key: str,
    data: Mapping[str, Any],
    submit_key: UUID,
    agreed_percent: int,
    *,
    practice: bool,
) -> Attempt:
    arrived_at = timezone.now()
    if course.ends_at is not None and course.has_ended(arrived_at):
        raise Refused(
            N_(
                "This course ended at %(time)s. Nothing was sent, and nothing is taken any more.",
                time=written(course.ends_at, course.zone),
            )
        )
    sheet = sheet_for(user, course, step, practice=practice)
    if sheet.round is None or sheet.round.key != round_key or sheet.practice is not practice:
        raise Refused(N_("This round is already locked in another window. Nothing was sent twice."))
    _let_answer(sheet, data)
    if sheet.waits_for:
        raise Refused(
            N_(
                "This step opens once you have tried: %(steps)s.",
                steps=", ".join(other.key for other in sheet.waits_for),
            )
        )
    standing, counts_at = Standing(Door.ON_TIME), arrived_at
    if sheet.attempt is None and practice:
        let_practise(sheet)
    elif sheet.attempt is None:
        standing, counts_at = _let_in(sheet, arrived_at, agreed_percent)
    if paused_everywhere(step):
        raise Refused(
            N_("This step is paused because of the model server. Nothing was sent, and it cost you nothing.")
        )
    form = sheet.form(data)
    if not form.is_valid():
        raise InvalidAnswers(form)
    answers = form.answers()
    plan = sheet.round.plan(sheet.challenge, answers, sheet.seen)
    if plan is not None:
        _let_run(sheet, form, plan)
    try:
        with transaction.atomic():
            return _lock(sheet, submit_key, answers, plan, counts_at, standing)
    except IntegrityError as lost:
        raise Refused(
            N_("One of your attempts is already waiting or running. Wait for it to end, or stop it first.")
        ) from lost


def _let_in(sheet: Sheet, arrived_at: datetime, agreed_percent: int) -> tuple[Standing, datetime]:
    """What a new attempt costs now, and when it counts as submitted. Raises Refused before and after the window, and
    where it costs more than was said: nobody runs late unawares."""
    window = sheet.terms.window
    standing, counts_at = sheet.standing(arrived_at)
    if standing.door is Door.EARLY and window.opens_at is not None:
        raise Refused(
            N_("This step opens at %(time)s. Nothing was sent.", time=written(window.opens_at, window.zone))
        )
    if standing.door is Door.CLOSED and window.last_at is not None:
        raise Refused(
            N_(
                "This step closed at %(time)s, that minute included. Nothing was sent, and no attempt was used.",
                time=written(window.last_at, window.zone),
            )
        )
    if standing.percent > agreed_percent:
        raise Refused(
            N_(
                "It is later than when this page was loaded: run now, the attempt would lose %(percent)s percent of"
                " its points. Nothing was sent. Press Run again if you want that.",
                percent=standing.percent,
            )
        )
    return standing, counts_at


def _let_answer(sheet: Sheet, data: Mapping[str, Any]) -> None:
    """Raises Refused where the page asked something else than is asked now."""
    if data.get("inputs", sheet.inputs) != sheet.inputs:
        raise Refused(OTHER_INPUTS)


def _let_run(sheet: Sheet, form: StepForm, plan: Plan) -> None:
    """Raises InvalidAnswers where this plan cannot run, Refused where it may not."""
    problem = _too_long(plan, sheet.endpoint)
    if problem is None and sheet.host is not None and not is_plan_of(sheet.host, plan):
        problem = _(
            "Your partner has locked other settings than these, and one run serves you both. Agree on the settings, "
            "then send again; what you predict stays your own."
        )
    if problem is not None:
        form.add_error(None, problem)
        raise InvalidAnswers(form)
    if sheet.practice:
        let_use_machine(sheet)


def _repeated(user: User, submit_key: UUID) -> Attempt | None:
    round_ = Round.objects.select_related("attempt").filter(submit_key=submit_key).first()
    if round_ is None:
        return None
    if round_.attempt.user_id != user.pk:
        raise NotFound
    return round_.attempt


def _lock(
    sheet: Sheet,
    submit_key: UUID,
    answers: Json,
    plan: Plan | None,
    counts_at: datetime,
    standing: Standing,
) -> Attempt:
    assert sheet.round is not None
    after = State.QUEUED if plan is not None else State.OPEN
    together = take_place(sheet) if plan is not None else {}
    if sheet.attempt is None and sheet.practice:
        attempt = begin_practice(sheet, after)
    elif sheet.attempt is None:
        attempt = begin_graded(sheet, after, counts_at, standing.percent, together)
    else:
        attempt = sheet.attempt
        line = {"queued_at": Now(), "not_before": None, "returned": False, **together}
        if not move(attempt, State.OPEN, after, **line):
            raise Refused(N_("This attempt has ended meanwhile. Reload the page to see how."))
    round_ = Round.objects.create(
        attempt=attempt,
        number=len(sheet.seen) + 1,
        key=sheet.round.key,
        submit_key=submit_key,
        challenge=sheet.challenge,
        answers=answers,
        plan=plan.to_json() if plan is not None else None,
    )
    if plan is None:
        grade_without_run(attempt, round_, sheet.step)
    else:
        wake_drivers_after_commit()
    attempt.refresh_from_db()
    return attempt


def _too_long(plan: Plan, endpoint: Endpoint | None) -> str | None:
    """A sentence when a prompt and its answer do not fit the slot, by tokens; None when all fit."""
    room = int(endpoint.facts.get("n_ctx") or 0) if endpoint else 0
    for ask in plan.asks:
        n = tokens.count(ask.messages, endpoint) if room else None
        exact = n is not None
        n = (n if n is not None else tokens.most(ask.messages)) + plan.lab_line_tokens * ask.lab_line
        limit = room or DEFAULT_ROOM
        if n + ask.max_tokens > limit:
            if exact:
                text = _(
                    "The prompt has %(n)s tokens and may write %(max)s more; one slot of this server holds %(limit)s."
                    " Shorten the text."
                )
            else:
                text = _(
                    "The prompt may have up to %(n)s tokens, one slot holds %(limit)s, and no server can count exactly"
                    " just now. Shorten the text, or try again in a minute."
                )
            return str(text % {"n": n, "max": ask.max_tokens, "limit": limit})
    return None
