"""Recordings as the rows that static/labs/timeline.js draws. Live events fill the same rows while a run goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labs.measure.recording import Recording
from labs.text import Text
from labs.views.words import say


def timeline(asks: Sequence[tuple[Text | None, Recording]]) -> list[dict[str, Any]]:
    """One row an ask: {"key", "title", "marks": {name: us from sent}, "end"}; a mark that did not happen is absent."""
    return [
        {"key": r.key, "title": say(title) or r.key, "marks": _marks(r), "end": r.figures.end}
        for title, r in asks
    ]


def _marks(recording: Recording) -> dict[str, int]:
    figures = recording.figures
    marks = {
        "headers": figures.headers_us,
        "first": figures.first_token_us,
        "sentence": figures.first_sentence_us,
        "last": figures.last_token_us,
        "cut": recording.closed_us if figures.end in ("cut", "held") else None,
        "idle": recording.idle_us,
        "end": figures.end_us,
    }
    return {name: at_us for name, at_us in marks.items() if at_us is not None}
