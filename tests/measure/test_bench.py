"""The bench's own instruments, on a scripted server: a witness that changes what it sees is none."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from labs.llama.client import LlamaClient
from labs.measure.plan import Plan
from labs.measure.prepare import render, with_line
from labs.measure.request import body_of
from tests.measure.bench import raw
from tests.measure.bench.rig import MAX_TOKENS, Relay, tagged
from tests.measure.driving import drive
from tests.measure.scripted import ScriptedLlama


def test_the_relay_times_the_same_request_and_changes_nothing(tmp_path: Path) -> None:
    plan = Plan(tuple(tagged(slot) for slot in (0, 1, 0, 1, 0)))
    with ScriptedLlama(prefill_s=0.1) as server, Relay(tmp_path, int(server.url.rpartition(":")[2])) as relay:
        relayed = drive(f"http://127.0.0.1:{relay.port}", plan)
        direct = drive(server.url, plan)
        lines = relay.lines([ask.key for ask in plan.asks])
    assert relayed.outcome == direct.outcome == "recorded"
    assert len(lines) == relay.count() == 5
    later_us = []
    for ask in plan.asks:
        seen, witnessed = relayed.record[ask.key].figures, lines[ask.key]
        assert seen.text == direct.record[ask.key].figures.text
        assert seen.prompt_ms == witnessed["prompt_ms"]
        assert seen.ttft_us is not None
        assert witnessed["ttft_us"] >= 100_000
        later_us.append(witnessed["ttft_us"] - seen.ttft_us)
    # The witness sits nearer to the server: it sees the request later and the content earlier. A busy machine may hold
    # either of them up in one or two.
    assert median(later_us) <= 5_000


def test_a_raw_socket_reads_the_same_counter() -> None:
    ask = tagged(0)
    with ScriptedLlama(prefill_s=0.1) as server, LlamaClient(server.url) as client:
        body = body_of(ask, render(client, with_line(ask.messages, "")))
        ttft_us, prompt_ms = raw.ask(int(server.url.rpartition(":")[2]), body)
    assert ttft_us >= 100_000
    assert prompt_ms == 1.0
    assert body["max_tokens"] == MAX_TOKENS
