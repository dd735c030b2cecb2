"""The stored replay of `cache-reuse`: A, B, C, every slot emptied, A again, on two real servers (measuring.md 6).

No ask is pinned to a slot: one that is pinned to an emptied slot does not look into the host's memory.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "labhub_voice.settings")

from labs.llama.client import LlamaClient
from labs.llama.process import EmbeddedServer
from labs.llama.stream import Limits
from labs.measure.board import wait_idle
from labs.measure.figures import read_figures
from labs.measure.ledger import agrees
from labs.measure.prepare import read_facts
from labs.measure.recording import Frame, Recording, RunRecord, ServerFacts
from labs.measure.request import SEED
from labs.steps.corpus import DOCUMENTS, QUESTIONS
from labs.steps.prompts import with_documents
from labs.steps.recorded import keep_runs

NAME = "host-cache"
HOST_MIB = {"on": 512, "off": 0}
LIMITS = Limits(first_token_s=120, idle_s=60, total_s=300)
MAX_TOKENS = 4
# Three prompts that part in their first words, so that none of them finds another's in a slot.
PROMPTS = {
    key: with_documents([f"Shelf {key.upper()}.", *DOCUMENTS[i : i + 4]], QUESTIONS[i])
    for key, i in (("a", 0), ("b", 4), ("c", 8))
}


def record(client: LlamaClient) -> RunRecord:
    """One server's run. Raises LlamaError where it cannot empty a slot."""
    facts = read_facts(client, ServerFacts(batch=128))
    before, began_ns = client.metrics(), time.perf_counter_ns()
    found = {key: ask(client, key, messages, began_ns) for key, messages in PROMPTS.items()}
    for slot in range(facts.slots):
        found[f"erase-{slot}"] = erase(client, slot, began_ns)
    found["a-again"] = ask(client, "a-again", PROMPTS["a"], began_ns)
    asks = [recording for recording in found.values() if recording.kind == "ask"]
    return RunRecord(recordings=found, server=facts, metrics_agree=agrees(before, client.metrics(), asks))


def ask(client: LlamaClient, key: str, messages: Sequence[Mapping[str, str]], began_ns: int) -> Recording:
    told = [dict(message) for message in messages]
    body = {
        "messages": told,
        "max_tokens": MAX_TOKENS,
        "cache_prompt": True,
        "temperature": 0,
        "seed": SEED,
        "stream_options": {"include_usage": True},
        "return_progress": True,
    }
    prompt_ids = tuple(client.prompt_tokens(told))
    with client.chat(body, LIMITS) as stream:
        sent_ns = stream.sent_ns or time.perf_counter_ns()
        frames = tuple(Frame((read.at_ns - sent_ns) // 1000, read.data) for read in stream)
        headers_us = None if stream.headers_ns is None else (stream.headers_ns - sent_ns) // 1000
    assert stream.end == "done", stream.end
    assert wait_idle(client)
    task, slot = max((row.id_task or -1, row.id) for row in client.slots())
    return Recording(
        key=key,
        kind="ask",
        slot=slot,
        sent_at_us=(sent_ns - began_ns) // 1000,
        figures=read_figures(frames, headers_us=headers_us, end="done", end_us=frames[-1].at_us),
        prompt_ids=prompt_ids,
        id_task=task,
        frames=frames,
    )


def erase(client: LlamaClient, slot: int, began_ns: int) -> Recording:
    sent_ns = time.perf_counter_ns()
    said = client.post_object(f"/slots/{slot}?action=erase", {})
    return Recording(
        key=f"erase-{slot}",
        kind="get",
        slot=slot,
        sent_at_us=(sent_ns - began_ns) // 1000,
        body=json.dumps({name: said[name] for name in ("id_slot", "n_erased")}),
    )


def record_on(host_mib: int, folder: Path) -> RunRecord:
    with (
        EmbeddedServer(folder, "--cache-ram", str(host_mib)) as server,
        LlamaClient(server.base_url) as client,
    ):
        return record(client)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        runs = {key: record_on(mib, Path(folder) / key) for key, mib in HOST_MIB.items()}
    for key, run in runs.items():
        counted = {name: r.figures.prompt_n for name, r in run.recordings.items() if r.kind == "ask"}
        print(f"host memory {key} ({HOST_MIB[key]} MiB): prompt_n {counted}")
    keep_runs(NAME, runs, "scripts/record-host-cache")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
