"""One attempt as a page shows it: locked rounds, runs with their recordings, checks with evidence."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.utils.translation import gettext

from labs.actions.regrade.again import grade_again, with_recordings
from labs.grading.checks import Check, Verdict
from labs.limits import limits_in_force
from labs.measure.plan import Plan
from labs.measure.recording import Recording, RunRecord
from labs.models import AUTOMATIC, Attempt, GradeEvent, Round, Run, State
from labs.sheets import Stored, stored_of
from labs.steps.base import Seen, Step, StepForm
from labs.text import Text
from labs.views import evidence, reasons, words
from labs.views.answers import Answer, answers_of, choice_names
from labs.views.figures.attempt import RanRound, plots_of, voice_of
from labs.views.figures.diff import ShownDiff, run_diffs
from labs.views.figures.plot import Plot
from labs.views.figures.voice import Voice
from labs.views.history import ShownGrade, history_of
from labs.views.shown_run import ShownRecording, ShownRun, Streams, calls_of, titles_of

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ShownRound:
    key: str
    number: int
    title: Text
    locked_at: datetime
    answers: Sequence[Answer]
    runs: Sequence[ShownRun]


@dataclass(frozen=True, slots=True)
class ShownCheck:
    check: Check
    tables: Sequence[evidence.Table]
    hints: Sequence[Text]

    @property
    def word(self) -> Text:
        return words.VERDICTS[self.check.verdict]


class ShownAttempt:
    """`tries` is how many attempts of this step the student had graded: it opens the second hint.

    `stored`: what was read of it already. `hides_scores`: whoever looks may not know yet how right it was. Then it has
    no checks, no history, and nothing that holds the student's claims against the figures.
    """

    def __init__(
        self,
        attempt: Attempt,
        step: Step,
        tries: int = 1,
        stored: Stored | None = None,
        *,
        hides_scores: bool,
    ) -> None:
        self.attempt, self.step, self.tries, self.hides_scores = attempt, step, tries, hides_scores
        self._given_stored = stored

    @cached_property
    def _stored(self) -> Stored:
        return self._given_stored or stored_of(self.attempt)

    @property
    def seen(self) -> Seen:
        return self._stored.seen

    @property
    def state_word(self) -> Text:
        return words.state_of(self.attempt)

    @property
    def explanation(self) -> list[str]:
        graded_since = any(event.kind == GradeEvent.Kind.REGRADE for event in self._events)
        return reasons.sentences(self.attempt, graded_since=graded_since)

    @property
    def is_live(self) -> bool:
        return self.attempt.state in (State.QUEUED, State.RUNNING)

    @cached_property
    def checks(self) -> list[ShownCheck]:
        if self.hides_scores:
            return []
        event = next((e for e in reversed(self._events) if e.kind in AUTOMATIC), None)
        if event is not None:
            found = [Check.from_json(check) for check in event.checks]
        elif self.is_practised:
            # No event keeps its verdicts, so they are what a regrade would give: none once it needs purged frames.
            limits = limits_in_force(self.attempt.course_id, self.attempt.step)
            stored = with_recordings(Attempt.objects.filter(pk=self.attempt.pk)).get()
            found = grade_again(stored, self.step, limits.values).checks
        elif not self.attempt.is_terminal:
            # Between two rounds: what the recorded ones have shown. The grade itself comes at the end.
            recorded = list(self.seen.items())[: -1 if self.is_live else None]
            limits = limits_in_force(self.attempt.course_id, self.attempt.step)
            try:
                found = self.step.grade(Seen(recorded), limits.values)
            except Exception:  # a fault of ours: the page still shows what was recorded
                log.exception("grading %s for its page failed", self.attempt)
                found = []
        else:
            found = []
        return [
            ShownCheck(
                c, evidence.tables(c.evidence, self._request_names, self._choice_names), self._hints(c)
            )
            for c in found
        ]

    @cached_property
    def _request_names(self) -> Mapping[str, str]:
        """What the plans call their requests, by key; a later round's name for the same key wins."""
        found = [(key, title) for row in self._rows for key, title in titles_of(row.plan).items()]
        return {key: words.say(title) for key, title in found}

    @cached_property
    def _choice_names(self) -> Mapping[str, str]:
        """What the forms call the choices that evidence holds by key."""
        return {key: name for row in self._rows for key, name in choice_names(self._form(row)).items()}

    @property
    def is_practised(self) -> bool:
        return self.attempt.practice and self.attempt.state == State.GRADED

    @cached_property
    def _events(self) -> list[GradeEvent]:
        return list(self.attempt.grade_events.prefetch_related("by").order_by("created_at", "pk"))

    @cached_property
    def history(self) -> list[ShownGrade]:
        """What became of the grade: empty while it is as it was first given."""
        is_news = any(event.kind != GradeEvent.Kind.AUTO for event in self._events)
        return history_of(self._events) if is_news and not self.hides_scores else []

    @property
    def passed(self) -> int:
        return sum(shown.check.verdict is Verdict.PASS for shown in self.checks)

    @property
    def points(self) -> int:
        return sum(shown.check.score or 0 for shown in self.checks)

    @property
    def open_points(self) -> int:
        return sum(s.check.points for s in self.checks if s.check.verdict is Verdict.INCONCLUSIVE)

    @property
    def _rows(self) -> Sequence[Round]:
        return self._stored.rounds

    @cached_property
    def rounds(self) -> list[ShownRound]:
        runs: dict[int, list[Run]] = {}
        for run in self._stored.runs:
            runs.setdefault(run.round_id, []).append(run)
        return [self._round(row, runs.get(row.pk, [])) for row in self._rows]

    @cached_property
    def _ran(self) -> list[RanRound]:
        names = {
            row.key: {key: words.say(title) for key, title in titles_of(row.plan).items()}
            for row in self._rows
        }
        return [
            RanRound(key, number, locked.run, names.get(key, {}))
            for number, (key, locked) in enumerate(self.seen.items(), start=1)
            if locked.run is not None
        ]

    @cached_property
    def plots(self) -> list[Plot]:
        return plots_of(self.step, self._ran, None if self.hides_scores else self.seen)

    @cached_property
    def voice(self) -> Voice | None:
        return voice_of(self.step, self._ran)

    @property
    def streams(self) -> list[Streams]:
        """What can be watched again: the asks whose frames are kept, by run."""
        runs = [run for round_ in self.rounds for run in round_.runs if run.run.outcome]
        kept = [(run.run.number, [ask for ask in run.asks if ask.has_frames]) for run in runs]
        return [
            Streams(gettext("Run %(number)s") % {"number": number}, number, asks)
            for number, asks in kept
            if asks
        ]

    @property
    def first_run(self) -> int:
        """The number of the newest round's first run: what the stream holds of earlier ones is in the page."""
        return 1 + sum(len(round_.runs) for round_ in self.rounds[:-1])

    @cached_property
    def titles_json(self) -> str:
        """What the newest round's plan items are called: events carry keys, the page the words."""
        newest = self._rows[-1] if self._rows else None
        return json.dumps(
            {key: words.say(text) for key, text in titles_of(newest.plan if newest else None).items()}
        )

    @property
    def last_run(self) -> ShownRun | None:
        """The run beside the page's text: the newest accepted one."""
        accepted = [run for round_ in self.rounds for run in round_.runs if run.accepted]
        written = [run for round_ in self.rounds for run in round_.runs if run.recordings]
        return next(reversed(accepted or written), None)

    def _round(self, row: Round, runs: Sequence[Run]) -> ShownRound:
        titles = titles_of(row.plan)
        waits_from = [row.locked_at, *(run.ended_at or run.started_at for run in runs)]
        return ShownRound(
            key=row.key,
            number=row.number,
            title=self.step.round(row.key).title,
            locked_at=row.locked_at,
            answers=answers_of(self._form(row), row.answers),
            runs=[
                self._run(row, run, titles, queued_at)
                for run, queued_at in zip(runs, waits_from, strict=False)
            ],
        )

    def _run(self, row: Round, run: Run, titles: Mapping[str, Text], queued_at: datetime) -> ShownRun:
        accepted = run.pk == row.accepted_run_id
        record = self.seen[row.key].run if accepted else None
        known = record.recordings if record is not None else {}
        calls = calls_of(row.plan)
        return ShownRun(
            run=run,
            accepted=accepted,
            recordings=[
                ShownRecording(
                    titles.get(stored.key),
                    # Those of the accepted run have their frames with them.
                    known.get(stored.key) or Recording.from_json(stored.data),
                    hasattr(stored, "frame_store"),
                    calls.get(stored.key, ""),
                )
                for stored in run.recordings.all()
            ],
            queued_at=queued_at,
            hides_scores=self.hides_scores,
            diffs=self._diffs(row, record, titles) if record is not None else (),
        )

    def _diffs(self, row: Round, record: RunRecord, titles: Mapping[str, Text]) -> list[ShownDiff]:
        if "diff" not in self.step.shows or not row.plan:
            return []
        predicted = (
            {} if self.hides_scores else self.step.round(row.key).predicted_prefix(self._seen_with(row))
        )
        names = {key: words.say(title) for key, title in titles.items()}
        return list(run_diffs(Plan.from_json(row.plan), record, names, predicted))

    def _seen_with(self, row: Round) -> Seen:
        """The rounds up to this one, itself included."""
        return Seen(list(self.seen.items())[: row.number])

    def _form(self, row: Round) -> StepForm:
        before = Seen(list(self.seen.items())[: row.number - 1])
        return self.step.round(row.key).Form(None, challenge=row.challenge, seen=before)

    def _hints(self, check: Check) -> Sequence[Text]:
        """None before a fail; one after it, the second after another try. The page never holds the others."""
        return check.hints[: self.tries] if check.verdict is Verdict.FAIL else ()
