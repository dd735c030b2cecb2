"""One run as a page shows it: what was asked and called, and what came of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.utils.translation import gettext

from labs.measure.plan import Ask, Get, Plan
from labs.measure.recording import Recording
from labs.models import Reason, Run
from labs.text import Text
from labs.views import reasons, strings, throttled, words
from labs.views.figures.diff import ShownDiff
from labs.views.figures.waterfall import Waterfall, run_waterfall
from labs.views.timeline import timeline


@dataclass(frozen=True, slots=True)
class ShownRecording:
    """`call`: the address that was asked where the model was asked nothing; "" for an ask."""

    title: Text | None
    recording: Recording
    has_frames: bool
    call: str = ""

    @property
    def name(self) -> str:
        return words.say(self.title) or self.recording.key

    @property
    def end_word(self) -> Text:
        return words.ENDS[self.recording.figures.end]

    @property
    def figures_line(self) -> str:
        """The line that the live panel wrote under the answer."""
        figures = self.recording.figures
        counts = {n: getattr(figures, n) for n in ("cache_n", "prompt_n", "predicted_n")}
        said = {name: words.NONE if count is None else count for name, count in counts.items()}
        return f"{gettext(strings.FIGURES) % {'ttft': words.us(figures.ttft_us), **said}} · {words.say(self.end_word)}"

    @property
    def tokens_a_second(self) -> float | None:
        us_per_token = self.recording.figures.us_per_token
        return 1_000_000 / us_per_token if us_per_token else None


@dataclass(frozen=True)
class ShownRun:
    """`queued_at`: when it began to wait. `diffs` are empty but for an accepted run of a step that shows them."""

    run: Run
    accepted: bool
    recordings: Sequence[ShownRecording]
    queued_at: datetime
    diffs: Sequence[ShownDiff] = ()
    hides_scores: bool = False

    @property
    def asks(self) -> list[ShownRecording]:
        return [shown for shown in self.recordings if shown.recording.kind == "ask"]

    @cached_property
    def waterfall(self) -> Waterfall | None:
        asks = [(shown.name, shown.recording) for shown in self.asks]
        return run_waterfall(asks, self.queued_at, self.run.started_at, self.run.facts.get("lease_us"))

    @property
    def outcome_word(self) -> Text:
        if self.run.reason == Reason.ENDED_BY_ADMIN:
            return words.TAKEN_BACK
        is_verdict = self.run.outcome == Run.Outcome.INCONCLUSIVE
        return words.OUTCOMES[Run.Outcome.RECORDED if self.hides_scores and is_verdict else self.run.outcome]

    @property
    def stops(self) -> list[str]:
        return throttled.sentences(self.run.facts.get("throttled", {}))

    @property
    def reason_word(self) -> Text | None:
        return reasons.WHAT_HAPPENED.get(self.run.reason)

    @property
    def timeline_json(self) -> str:
        return json.dumps(timeline([(shown.title, shown.recording) for shown in self.asks]))


@dataclass(frozen=True, slots=True)
class Streams:
    title: str
    number: int
    asks: Sequence[ShownRecording]


def titles_of(plan: Mapping[str, Any] | None) -> Mapping[str, Text]:
    """Asks by title and notes by text, by key."""
    if not plan:
        return {}
    items = [item for item in Plan.from_json(plan).all_items if not isinstance(item, Get)]
    named = [(item.key, item.title if isinstance(item, Ask) else item.text) for item in items]
    return {key: text for key, text in named if text.msgid}


CALLS: Mapping[str, str] = {
    "health": "GET /health",
    "props": "GET /props",
    "slots": "GET /slots",
    "metrics": "GET /metrics",
    "tokens": "POST /tokenize",
    "erase": "POST /slots/{slot}?action=erase",
}


def calls_of(plan: Mapping[str, Any] | None) -> Mapping[str, str]:
    """What was called for each key that is no ask."""
    items = Plan.from_json(plan).items if plan else ()
    return {item.key: CALLS[item.what].format(slot=item.slot) for item in items if isinstance(item, Get)}
