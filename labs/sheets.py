"""Read side of a step: which round waits for the student, what they are shown, and what they locked before."""

from __future__ import annotations

import hmac
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from labs import tokens
from labs.measure.frames import unpack_frames
from labs.measure.recording import Frame, Recording, RunRecord, ServerFacts
from labs.models import (
    LIVE,
    Attempt,
    AttemptCount,
    Course,
    Endpoint,
    Pair,
    Round,
    Run,
    State,
    StoredRecording,
)
from labs.pairs import host_of, number_of_next, partnership_of
from labs.rules.window import Standing, Window
from labs.steps import all_steps
from labs.steps.base import Round as StepRound
from labs.steps.base import RoundSeen, Seen, Step, StepForm
from labs.terms import Terms, terms_for
from labs.text import Json

# So long after a fault of the server ended an attempt, a new one counts as submitted when that one was.
REPEAT_WITHIN = timedelta(days=1)


@dataclass(frozen=True)
class Sheet:
    """What one student may do at one step now. `round` is None while their attempt is queued or running.

    `waits_for`: steps that they must have tried before this one opens. `practice`: of what follows, see Attempt.
    `stored`: what there is of the attempt. `pair`: whose inputs these are, the `pair_number`th; None: one's own.
    `partner`: with whom this round can be measured; `host`: their attempt, where it waits with this round for one's
    answers.
    """

    user: User
    course: Course
    step: Step
    attempt: Attempt | None
    round: StepRound | None
    seen: Seen
    seed_number: int
    attempts_left: int
    terms: Terms
    waits_for: Sequence[Step] = ()
    practice: bool = False
    stored: Stored | None = None
    pair: Pair | None = None
    pair_number: int = 0
    partner: User | None = None
    host: Attempt | None = None

    @property
    def inputs(self) -> str:
        """Names what this student is asked now, so that a page can tell whether it is still the same."""
        kind = f"pair-{self.pair.pk}" if self.pair is not None else "practice" if self.practice else "own"
        return f"{kind}:{self.pair_number if self.pair is not None else self.seed_number}"

    def is_of_others(self, attempt: Attempt) -> bool:
        """Whether that attempt asked what another pair, or the student alone, was asked."""
        pair_id = self.pair.pk if self.pair is not None else None
        return (attempt.pair_id, attempt.pair_number) != (pair_id, self.pair_number)

    @property
    def round_number(self) -> int:
        return len(self.seen) + 1

    @cached_property
    def challenge(self) -> Json:
        assert self.round is not None
        return self.round.challenge(self._rng(), self.seen)

    @cached_property
    def endpoint(self) -> Endpoint | None:
        """That can be asked for tokens now."""
        return tokens.usable_endpoint()

    @cached_property
    def tokens(self) -> Mapping[str, Sequence[Json]]:
        assert self.round is not None
        prompts = self.round.tokenise(self.challenge)
        found = {name: tokens.pieces(messages, self.endpoint) for name, messages in prompts.items()}
        return {name: pieces for name, pieces in found.items() if pieces is not None}

    def form(self, data: Mapping[str, Any] | None = None) -> StepForm:
        assert self.round is not None
        return self.round.Form(data, challenge=self.challenge, seen=self.seen, tokens=self.tokens)

    def standing(self, at: datetime) -> tuple[Standing, datetime]:
        """What a new attempt costs that is submitted now, and when it counts as submitted: a fault of the server
        makes nobody late."""
        window = self.terms.window
        now = window.standing(at)
        if window.due_at is None or at <= window.due_at:
            return now, at
        ended = Attempt.objects.for_grade().filter(
            user=self.user,
            course=self.course,
            step=self.step.key,
            seed_number=self.seed_number,
            charged=False,
            state__in=[State.ERRORED, State.GRADED],
            finished_at__gt=at - REPEAT_WITHIN,
        )
        first = ended.order_by("submitted_at").first()
        return after_a_fault(window, at, first.submitted_at if first else None)

    @property
    def locked(self) -> list[tuple[StepRound, RoundSeen]]:
        return [(self.step.round(key), seen) for key, seen in self.seen.items()]

    def _rng(self) -> random.Random:
        """Everyone's own inputs: the same for one student, step, round and charged attempt, and nobody else's."""
        assert self.round is not None
        about = f"{self.course.pk}:{self.user.pk}:{self.step.key}:{self.round.key}:{self.seed_number}"
        if self.practice:  # never what a graded attempt asks
            about = f"practice:{about}"
        if self.pair is not None:  # the same for both, and never what one of them was asked alone
            about = f"pair:{self.pair.pk}:{self.step.key}:{self.round.key}:{self.pair_number}"
        return random.Random(hmac.digest(settings.SECRET_KEY.encode(), about.encode(), "sha256"))  # noqa: S311


def after_a_fault(window: Window, at: datetime, first_at: datetime | None) -> tuple[Standing, datetime]:
    """What a new attempt costs now, and when it counts as submitted. `first_at`: when the one came that a fault of the
    server ended, within `REPEAT_WITHIN`."""
    now = window.standing(at)
    if first_at is None:
        return now, at
    then = window.standing(first_at)
    is_better = then.is_accepted and (not now.is_accepted or then.percent < now.percent)
    return (then, first_at) if is_better else (now, at)


def sheet_for(
    user: User,
    course: Course,
    step: Step,
    terms: Terms | None = None,
    attempts: Sequence[Attempt] | None = None,
    *,
    practice: bool = False,
) -> Sheet:
    """`terms` and `attempts`, the student's newest at the step: where the caller has read them already. `practice`:
    what an attempt would be that begins now; one that is under way stays what it is."""
    if attempts is None:
        attempts = list(Attempt.objects.filter(user=user, course=course, step=step.key, state__in=LIVE))
    attempt = next((one for one in attempts if one.state in LIVE), None)
    charged = (
        AttemptCount.objects.filter(course=course, user=user, step=step.key)
        .values_list("charged", flat=True)
        .first()
    ) or 0
    stored = stored_of(attempt) if attempt else None
    seen = stored.seen if stored else Seen()
    terms = terms or terms_for(user, course, step)
    waits = attempt is None or (attempt.state == State.OPEN and len(seen) < len(step.rounds))
    practice = attempt.practice if attempt else practice
    seed_number = charged
    if attempt is not None:
        seed_number = attempt.seed_number
    elif practice:
        seed_number = Attempt.objects.filter(user=user, course=course, step=step.key, practice=True).count()
    pair, number, partner = _pair_of(user, course, step, attempt, practice=practice)
    round_ = step.rounds[len(seen)] if waits else None
    host = None
    if pair is not None and partner is not None and round_ is not None:
        host = host_of(pair, partner, step.key, number, len(seen) + 1)
    return Sheet(
        user=user,
        course=course,
        step=step,
        attempt=attempt,
        round=round_,
        seen=seen,
        seed_number=seed_number,
        attempts_left=max(0, terms.attempts - charged),
        terms=terms,
        waits_for=_waits_for(user, course, step) if attempt is None else (),
        practice=practice,
        stored=stored,
        pair=pair,
        pair_number=number,
        partner=partner,
        host=host,
    )


def _pair_of(
    user: User, course: Course, step: Step, attempt: Attempt | None, *, practice: bool
) -> tuple[Pair | None, int, User | None]:
    """Whose inputs they are, which of them, and with whom they can be measured now."""
    if practice or (attempt is not None and attempt.pair is None):
        return None, 0, None
    together = partnership_of(user, course)
    if attempt is None or attempt.pair is None:
        if together is None:
            return None, 0, None
        return together.pair, number_of_next(together, step.key), together.partner
    is_same = together is not None and together.pair.pk == attempt.pair_id
    return attempt.pair, attempt.pair_number, together.partner if is_same and together else None


def _waits_for(user: User, course: Course, step: Step) -> list[Step]:
    """Those of the step's `requires` at which the student has never locked a round."""
    if not step.requires:
        return []
    tried = Attempt.objects.for_grade().filter(user=user, course=course, step__in=step.requires)
    missing = step.requires - set(tried.values_list("step", flat=True))
    return [other for key, other in all_steps().items() if key in missing]


@dataclass(frozen=True, slots=True)
class Stored:
    """An attempt's rounds and all of its runs, in order; the runs with their servers and recordings. `seen`: the locked
    rounds with their accepted runs, frames included while they are kept."""

    rounds: Sequence[Round]
    runs: Sequence[Run]
    seen: Seen


def stored_of(attempt: Attempt) -> Stored:
    """Four queries."""
    rounds = list(attempt.rounds.all())
    runs = list(attempt.runs.select_related("endpoint").prefetch_related("recordings__frame_store"))
    by_id = {run.pk: run for run in runs}
    seen = Seen()
    for round_ in rounds:
        run = by_id.get(round_.accepted_run_id or 0)
        seen[round_.key] = seen_round(round_, record_of(run) if run else None)
    return Stored(rounds, runs, seen)


def seen_of(attempt: Attempt) -> Seen:
    return stored_of(attempt).seen


def seen_round(round_: Round, record: RunRecord | None) -> RoundSeen:
    return RoundSeen(key=round_.key, challenge=round_.challenge, answers=round_.answers, run=record)


def record_of(run: Run, frames: Callable[[StoredRecording], tuple[Frame, ...]] | None = None) -> RunRecord:
    """A stored run as the graders and pages read it. `frames` finds a recording's frames; else the kept ones."""
    recordings = {
        stored.key: replace(Recording.from_json(stored.data), frames=(frames or kept_frames)(stored))
        for stored in run.recordings.all()
    }
    facts = dict(run.facts)
    return RunRecord(
        recordings=recordings,
        server=ServerFacts.from_json(facts.pop("server", {})),
        **{name: facts[name] for name in RUN_FACTS if name in facts},
    )


def kept_frames(stored: StoredRecording) -> tuple[Frame, ...]:
    """() where they were purged or never were."""
    store = getattr(stored, "frame_store", None)
    return unpack_frames(bytes(store.blob)) if store else ()


# What of a RunRecord is stored on the run itself, beside the recordings.
RUN_FACTS = (
    "lab_line",
    "lab_line_tokens",
    "head_tokens",
    "metrics_agree",
    "foreign_tasks",
    "lease_us",
    "throttled",
    "note",
)
