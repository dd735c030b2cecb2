"""A round of a pair: it joins the partner's in the queue, or waits a while for the partner."""

from __future__ import annotations

import json
from datetime import timedelta

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from labs.actions.errors import Refused
from labs.measure.plan import Plan
from labs.models import Attempt, State
from labs.pairs import may_still_come
from labs.sheets import Sheet
from labs.text import N_, Json

OTHER_INPUTS = N_(
    "The inputs on this page have been used meanwhile, by another attempt or by your partner's run, so nothing was "
    "sent. Below are new ones: look at them, then press Run again."
)


def take_place(sheet: Sheet) -> Json:
    """What a round of a pair does in the queue: it joins the partner's, or waits a while for the partner's answers.

    Nobody hangs: the time is up by itself, and then whoever waited runs alone. Raises Refused where the partner's run
    began in this moment.
    """
    if sheet.pair is None or sheet.partner is None:
        return {}
    if sheet.host is not None:
        # The guard stands in the UPDATE: a run that has begun takes nobody in any more.
        waits = Attempt.objects.filter(
            pk=sheet.host.pk, state=State.QUEUED, partner_until__isnull=False, cancel_requested=False
        )
        if not waits.update(partner_until=None, queued_at=Now(), version=F("version") + 1):
            raise Refused(OTHER_INPUTS)
        return {"rides_on": sheet.host, "partner_until": None}
    if not may_still_come(sheet.pair, sheet.partner, sheet.step.key, sheet.pair_number, sheet.round_number):
        return {}
    until = timezone.now() + timedelta(seconds=settings.LABHUB_PARTNER_S)
    return {"partner_until": until, "queued_at": until}


def is_plan_of(host: Attempt, plan: Plan) -> bool:
    theirs = host.rounds.order_by("-number").values_list("plan", flat=True)[0]
    return bool(json.loads(json.dumps(plan.to_json())) == theirs)
