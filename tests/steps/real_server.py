"""A step is played against the real llama-server as it is against the model: through forms, plans and the driver."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from labs.llama.client import LlamaClient
from labs.llama.stream import Limits
from labs.measure.board import wait_idle
from labs.measure.control import Control
from labs.measure.drive import Driver
from labs.measure.plan import Plan
from labs.measure.recording import RunRecord, ServerFacts
from labs.text import Json

# A shared machine may be ten times slower than a quiet one; nothing here is graded by time.
LIMITS = Limits(first_token_s=90, idle_s=60, total_s=180)
FACTS = ServerFacts(batch=128, prompt_ms_per_token=4.5)


class RealServer:
    """`before_ask` is called with an ask's key before that ask is sent. `facts` is what is known of the server."""

    def __init__(
        self,
        client: LlamaClient,
        before_ask: Callable[[str], None] = lambda key: None,
        facts: ServerFacts = FACTS,
    ) -> None:
        self.client = client
        self.before_ask = before_ask
        self.facts = facts
        self._line = ""

    def pieces(self, messages: Sequence[Mapping[str, str]]) -> list[Json]:
        text = self.client.apply_template([dict(m) for m in messages])
        return [
            {"id": token.id, "text": token.piece.decode("utf-8", "replace")}
            for token in self.client.tokenize_pieces(text)
        ]

    def run(self, plan: Plan, rng: random.Random) -> RunRecord:
        assert wait_idle(self.client, 60)
        driver = Driver(self.client, emit=self._emit, control=Control(), limits=LIMITS, facts=self.facts)
        # Not the challenge's `rng`: that is seeded, and the same letters again would find a warm cache.
        drive = driver.run(plan, random.SystemRandom(), last_lab_line=self._line)
        assert drive.outcome in ("recorded", "disturbed"), (drive.outcome, drive.reason, drive.detail)
        self._line = drive.record.lab_line
        return drive.record

    def _emit(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "ask":
            self.before_ask(str(data["key"]))
