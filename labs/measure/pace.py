"""How fast this endpoint reads a prompt, and so until when a cut slot must be free (DESIGN 6.6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from labs.measure.plan import PROMPT_MS_PER_TOKEN
from labs.measure.recording import Figures, Recording, ServerFacts

DECODE_US = 1_000_000
PREFILL_US = 2_000_000  # one second until the server looks at the connection, and one to spare
DEFAULT_BATCH = 2048  # llama-server's own default, the worst case
LEAST_PROMPT_N = 16  # shorter prompts measure the fixed part, not the time a token
FAIR_PROMPT_N = 64  # in these the fixed part is a few percent, so that they may stand for the endpoint


class Pace:
    """Starts from the fingerprint's figures and is replaced by what this lease saw itself."""

    def __init__(self, facts: ServerFacts) -> None:
        self._batch = facts.batch or DEFAULT_BATCH
        self._ms_per_token = facts.prompt_ms_per_token or PROMPT_MS_PER_TOKEN
        self._measured = False

    def learn(self, figures: Figures) -> None:
        """Takes an ask's own prefill speed; of several the slowest, for this is used as an upper bound."""
        if not figures.timings_final or figures.prompt_ms is None or (figures.prompt_n or 0) < LEAST_PROMPT_N:
            return
        assert figures.prompt_n is not None
        ms_per_token = figures.prompt_ms / figures.prompt_n
        self._ms_per_token = max(self._ms_per_token, ms_per_token) if self._measured else ms_per_token
        self._measured = True

    def allowance_us(self, *, in_decode: bool, n: int) -> int:
        """How long after the cut the slot may stay busy; `n` is the prompt's length in tokens."""
        if in_decode:
            return DECODE_US
        return PREFILL_US + round(min(self._batch, n) * self._ms_per_token * 1000)


def with_speed(facts: ServerFacts, recordings: Iterable[Recording]) -> ServerFacts:
    """The facts with the fastest prefill that is known of the endpoint once these have been recorded too."""
    figures = [recording.figures for recording in recordings]
    seen = [
        one.prompt_ms / one.prompt_n
        for one in figures
        if one.timings_final and one.prompt_ms and one.prompt_n is not None and one.prompt_n >= FAIR_PROMPT_N
    ]
    known = [] if facts.prompt_ms_per_token is None else [facts.prompt_ms_per_token]
    fastest = min([*seen, *known], default=None)
    return replace(facts, prompt_ms_per_token=None if fastest is None else round(fastest, 4))
