"""A step is played on the fake as on the real server, at the fake's own speed."""

from __future__ import annotations

import random
from dataclasses import replace

from labs.llama.client import LlamaClient
from labs.measure.board import wait_idle
from labs.measure.control import Control
from labs.measure.drive import Driver
from labs.measure.plan import Plan
from labs.measure.recording import RunRecord
from tests.fakellama.settings import PROMPT_MS
from tests.steps.real_server import FACTS, LIMITS, RealServer


class FakePlay(RealServer):
    """`scale` is the server's, so that its speed is known as a fingerprint knows it. It need not have `/slots`."""

    def __init__(self, client: LlamaClient, scale: float) -> None:
        super().__init__(client)
        self._facts = replace(FACTS, prompt_ms_per_token=PROMPT_MS * scale)

    def run(self, plan: Plan, rng: random.Random) -> RunRecord:
        wait_idle(self.client, 60)
        driver = Driver(self.client, emit=self._emit, control=Control(), limits=LIMITS, facts=self._facts)
        drive = driver.run(plan, random.SystemRandom(), last_lab_line=self._line)
        assert drive.outcome in ("recorded", "disturbed"), (drive.outcome, drive.reason, drive.detail)
        self._line = drive.record.lab_line
        return drive.record
