"""The reference layout of `voice-turn` is counted, never sent: here it is sent, and computes what was counted."""

from __future__ import annotations

import pytest

from labs.grading.checks import Verdict
from labs.grading.turns import would_compute
from labs.llama.client import LlamaClient
from labs.llama.process import EmbeddedServer
from labs.steps import talk
from labs.steps.examples import play
from labs.steps.voice_turn import KEYS, REFERENCES, VoiceTurn
from tests.steps.real_server import RealServer

pytestmark = pytest.mark.server


def test_the_reference_computes_what_its_tokens_say(llama_server: EmbeddedServer) -> None:
    order = ",".join(talk.REFERENCE_ORDER)
    all_of_them = [f"{turn}:{key}" for turn in talk.TURNS for key in talk.TITLES]
    answers = {"design": {"order": order, "riding": all_of_them, "max_tokens": 8}}
    with LlamaClient(llama_server.base_url) as client:
        seen = play(VoiceTurn(), RealServer(client), answers)
    half = next(check for check in VoiceTurn().grade(seen) if check.key == "half")
    assert half.verdict is Verdict.FAIL
    run = seen.run_of("design")
    said = would_compute([run[key].prompt_ids for key in REFERENCES])
    found = [run[key].figures.prompt_n or 0 for key in KEYS[1:]]
    assert all(abs(a - b) <= 2 for a, b in zip(said, found, strict=True)), (said, found)
