"""What the contract's tests ask with, and how they look."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

from labs.llama.client import LlamaClient
from labs.llama.facts import Metrics, Slot
from labs.llama.process import EmbeddedServer
from labs.llama.stream import ChatStream, Limits, Read
from labs.llama.wire import Chunk, Timings
from tests.fakellama.process import FakeServer

Server = EmbeddedServer | FakeServer
# For what hangs. On a machine whose cores are all busy a token of the real server was seen to take half a second.
LIMITS = Limits(first_token_s=240, idle_s=120, total_s=480)
BATCH = 128
SCALE = 0.2  # of the fake under contract
PARAGRAPH = "The harbour has four piers of granite and one of oak, and every boat knows its place. "
_numbers = itertools.count(1000)


def until(holds: Callable[[], bool], limit_s: float = 240, every_s: float = 0.05) -> None:
    """Looks seldom: a fast poller hides a closed connection from a server that is not writing."""
    end_s = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end_s, "it did not happen in time"
        time.sleep(every_s)


def all_idle(client: LlamaClient) -> bool:
    return not any(slot.is_processing for slot in client.slots())


def messages(text: str) -> list[dict[str, Any]]:
    return [{"role": "system", "content": "Be short."}, {"role": "user", "content": text}]


def body(text: str, **more: Any) -> dict[str, Any]:
    pinned: dict[str, Any] = {"id_slot": 0, "max_tokens": 4, "temperature": 0, "seed": 1, "ignore_eos": True}
    counted = {"stream_options": {"include_usage": True}, "return_progress": True}
    return {"messages": messages(text), **pinned, **counted, **more}


def fresh(text: str = "What colour is the oldest boat?") -> str:
    return f"{next(_numbers)} {text}"


def ask(client: LlamaClient, text: str, **more: Any) -> list[Chunk]:
    with client.chat(body(text, **more), LIMITS) as stream:
        found = chunks_of(list(stream))
    assert stream.end == "done"
    return found


def chunks_of(reads: list[Read]) -> list[Chunk]:
    return [chunk for read in reads for chunk in read.chunks]


def final(chunks: list[Chunk]) -> Timings:
    [found] = [chunk.timings for chunk in chunks if chunk.usage and chunk.timings]
    return found


def counts(chunks: list[Chunk]) -> tuple[int, int]:
    timings = final(chunks)
    return timings.cache_n, timings.prompt_n


def metrics(client: LlamaClient) -> Metrics:
    found = client.metrics()
    assert found is not None
    return found


def slot(client: LlamaClient, number: int = 0) -> Slot:
    return client.slots()[number]


def read_tokens(stream: ChatStream, count: int) -> list[Chunk]:
    """Reads until so many pieces of the answer have come."""
    found: list[Chunk] = []
    for read in stream:
        found += read.chunks
        if sum(chunk.is_generated for chunk in found) >= count:
            break
    return found


def long_text(server: Server, seconds: float) -> str:
    """A prompt that this server, as fast as it is now, reads for about so long: one core is not like another."""
    with LlamaClient(server.base_url) as client:
        timings = final(ask(client, f"{fresh()} {PARAGRAPH * 8}"))
    tokens = seconds * 1000 * timings.prompt_n / timings.prompt_ms
    return f"{fresh()} {PARAGRAPH * min(round(tokens / 21), 170)}"
