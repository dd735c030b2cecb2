"""What only the pages need of a run: the prompt's tokens in bytes, the time of connecting, the time of the lease."""

from __future__ import annotations

import random
import time

from labs.llama.client import LlamaClient
from labs.measure.control import Control
from labs.measure.drive import Driver
from labs.measure.plan import Ask, Plan
from labs.measure.prompt_pieces import unpack_pieces
from labs.measure.recording import Recording
from tests.measure.driving import LIMITS, user
from tests.measure.scripted import ScriptedLlama


def test_they_are_recorded_and_survive_storing() -> None:
    leased_ns = time.perf_counter_ns()
    with ScriptedLlama() as server, LlamaClient(server.url) as client:
        driver = Driver(client, emit=lambda kind, data: None, control=Control(), limits=LIMITS)
        drive = driver.run(Plan((Ask("a", user("hé"), 2),)), random.Random(1), since_ns=leased_ns)
    asked = drive.record["a"]
    pieces = unpack_pieces(asked.prompt_pieces)
    assert b"".join(pieces).decode() == "<s><user>hé"
    assert len(pieces) == asked.n
    assert asked.figures.connect_us is not None and asked.figures.connect_us > 0
    lease_us = drive.record.lease_us
    assert lease_us is not None and 0 < lease_us <= (time.perf_counter_ns() - leased_ns) // 1000
    assert Recording.from_json(asked.to_json()).prompt_pieces == asked.prompt_pieces
