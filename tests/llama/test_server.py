"""Against the real embedded llama-server: what the lab builds its verdicts on."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from labs.llama.client import LlamaClient
from labs.llama.errors import NotSupported, Rejected, Unauthorised
from labs.llama.facts import Health, Slot
from labs.llama.log import size_bytes, task_lines
from labs.llama.process import STOP_LIMIT_S, EmbeddedServer
from labs.llama.stream import ChatStream, Limits, Read
from labs.llama.wire import Chunk, Timings
from tests.llama import streaming

pytestmark = pytest.mark.server

LIMITS = Limits(first_token_s=60, idle_s=30, total_s=120)
POLL_S = 0.1  # faster looks hide a closed connection from the server (measuring.md 2.4)
_numbers = itertools.count()


def wait_until(condition: Callable[[], bool], limit_s: float = 60) -> None:
    streaming.wait_until(condition, limit_s, POLL_S)


@pytest.fixture
def client(llama_server: EmbeddedServer) -> Iterator[LlamaClient]:
    """With both slots idle and empty."""
    with LlamaClient(llama_server.base_url) as client:
        wait_until(lambda: not any(slot.is_processing for slot in client.slots()))
        for slot in client.slots():
            client.erase_slot(slot.id)
        yield client


def body(text: str, **more: object) -> dict[str, Any]:
    return {
        "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": text}],
        "id_slot": 0,
        "max_tokens": 8,
        "temperature": 0,
        "seed": 1,
        "ignore_eos": True,
        "return_progress": True,
        "stream_options": {"include_usage": True},
        **more,
    }


def ask(client: LlamaClient, text: str, **more: object) -> tuple[ChatStream, list[Read]]:
    with client.chat(body(text, **more), LIMITS) as stream:
        return stream, list(stream)


def chunks_of(reads: list[Read]) -> list[Chunk]:
    return [chunk for read in reads for chunk in read.chunks]


def timings_of(reads: list[Read]) -> Timings:
    [timings] = [chunk.timings for chunk in chunks_of(reads) if chunk.timings]
    return timings


def slot(client: LlamaClient, slot_id: int = 0) -> Slot:
    return client.slots()[slot_id]


def test_eight_tokens_with_progress(client: LlamaClient) -> None:
    stream, reads = ask(client, "Count from one to ten.")
    chunks = chunks_of(reads)
    assert (stream.end, stream.status) == ("done", 200)
    progress = [chunk.progress for chunk in chunks if chunk.progress]
    assert progress[0].processed == progress[0].cache == 0
    assert progress[-1].processed == progress[-1].total
    assert sum(chunk.is_first_visible for chunk in chunks) > 0
    timings = timings_of(reads)
    assert timings.predicted_n == 8
    [usage] = [chunk.usage for chunk in chunks if chunk.usage]
    assert usage.completion_tokens == 8
    assert usage.prompt_tokens == timings.cache_n + timings.prompt_n == progress[-1].total
    assert stream.sent_ns and stream.headers_ns
    # The headers are no first token: progress came before it, and so did they.
    first = next(read.at_ns for read in reads if any(c.is_first_visible for c in read.chunks))
    assert stream.sent_ns < stream.headers_ns < first


@pytest.mark.parametrize("text", ["Hi", "안녕하세요, 지금 몇 시예요? 😀", "<|im_end|>\n<|im_start|>user"])
def test_template_and_tokenizer_agree_with_usage(client: LlamaClient, text: str) -> None:
    messages = body(text)["messages"]
    tokens = client.prompt_tokens(messages)
    _, reads = ask(client, text, max_tokens=1)
    [usage] = [chunk.usage for chunk in chunks_of(reads) if chunk.usage]
    assert len(tokens) == usage.prompt_tokens
    prompt = client.apply_template(messages)
    pieces = client.tokenize_pieces(prompt)
    assert [piece.id for piece in pieces] == client.tokenize(prompt) == tokens
    assert b"".join(piece.piece for piece in pieces).decode() == prompt


def test_the_cache_repeat_erase(client: LlamaClient) -> None:
    text = f"{next(_numbers)} red apples and blue pears lie on the table. What colour are the pears?"
    n = len(client.prompt_tokens(body(text)["messages"]))
    cold, repeat = timings_of(ask(client, text)[1]), timings_of(ask(client, text)[1])
    assert (cold.cache_n, cold.prompt_n) == (0, n)
    assert (repeat.cache_n, repeat.prompt_n) == (n - 1, 1)
    client.erase_slot(0)
    assert timings_of(ask(client, text)[1]).cache_n == 0


def test_metrics_add_up(client: LlamaClient) -> None:
    before = client.metrics()
    timings = [timings_of(ask(client, text)[1]) for text in ("What is tea?", "What is tea?")]
    after = client.metrics()
    assert before
    assert after
    assert after.prompt_tokens - before.prompt_tokens == sum(one.prompt_n for one in timings)
    assert after.cached_tokens - before.cached_tokens == sum(one.cache_n for one in timings)


def test_a_prompt_that_does_not_fit(client: LlamaClient) -> None:
    with pytest.raises(Rejected) as caught, client.chat(body("word " * 5000), LIMITS):
        pass
    error = caught.value
    assert (error.status, error.kind) == (400, "exceed_context_size_error")
    assert error.n_ctx == client.props().n_ctx
    assert error.n_prompt_tokens is not None
    assert error.n_prompt_tokens > error.n_ctx


def test_a_cut_in_decode_frees_the_slot(client: LlamaClient, llama_server: EmbeddedServer) -> None:
    offset = size_bytes(llama_server.log_path)
    asked = body("Tell a very long story.", max_tokens=3000, timings_per_token=True)
    with client.chat(asked, LIMITS) as stream:
        reads = []
        for read in stream:
            reads.append(read)
            if sum(chunk.is_first_visible for chunk in chunks_of(reads)) == 3:
                break
        busy = slot(client)
        assert busy.is_processing
        assert busy.id_task is not None
        stream.cut()
    assert stream.end == "cut"
    wait_until(lambda: not slot(client).is_processing)
    free = slot(client)
    assert free.id_task == busy.id_task
    assert free.n_prompt_tokens is not None
    assert free.n_prompt_tokens < 3000
    lines = task_lines(llama_server.log_path, busy.id_task, offset)
    assert lines.cancel is not None
    wait_until(lambda: task_lines(llama_server.log_path, busy.id_task or 0, offset).release is not None)
    assert task_lines(llama_server.log_path, busy.id_task, offset).n_tokens == free.n_prompt_tokens


def test_a_close_in_prefill_frees_the_slot_early(client: LlamaClient) -> None:
    text = "The quick brown fox jumps over the lazy dog near the river bank. " * 60
    total = len(client.prompt_tokens(body(text)["messages"]))
    stream = client.chat(body(text, max_tokens=64), LIMITS)
    stream.close_after_sent(0.3)
    with stream:
        reads = list(stream)
    assert stream.end == "cut"
    assert not any(chunk.is_generated for chunk in chunks_of(reads))
    wait_until(lambda: not slot(client).is_processing)
    assert 0 < (slot(client).n_prompt_tokens or 0) < total


def test_a_queued_ask_is_cut_before_its_headers(client: LlamaClient) -> None:
    """The second ask waits for the same slot, so no header comes: our reader ends all the same, and the
    held one goes on. (The server itself looks for the closed connection only once nothing else is written:
    every token of the held ask restarts its wait.)"""
    with client.chat(body("Tell a long story.", max_tokens=3000), LIMITS) as held:
        next(iter(held))
        queued = client.chat(body("Hi", max_tokens=3000), LIMITS)

        def read() -> None:
            with queued:
                list(queued)

        reader = threading.Thread(target=read)
        reader.start()
        wait_until(lambda: getattr(client.metrics(), "requests_deferred", 0) == 1)
        queued.cut()
        reader.join(5)
        assert not reader.is_alive()
        assert (queued.end, queued.headers_ns) == ("cut", None)
        assert held.end is None
        assert slot(client).is_processing
    wait_until(
        lambda: not slot(client).is_processing and getattr(client.metrics(), "requests_deferred", 1) == 0
    )


def test_health_and_props(client: LlamaClient) -> None:
    assert client.health() == Health("ok")
    assert client.health(deep=True) == Health("ok")
    props = client.props()
    assert (props.total_slots, props.n_ctx) == (2, 4096)
    assert "message" in props.chat_template


def test_a_server_with_a_key_and_without_extras(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("locked")
    with EmbeddedServer(folder, "--no-slots", "--no-metrics", "--ctx", "512", api_key="secret") as server:
        with LlamaClient(server.base_url) as stranger:
            assert stranger.health() == Health("unhealthy", "unauthorised")
            with pytest.raises(Unauthorised), stranger.chat(body("Hi"), LIMITS):
                pass
        with LlamaClient(server.base_url, "secret") as client:
            assert client.health() == Health("ok")
            assert client.metrics() is None
            with pytest.raises(NotSupported):
                client.slots()
            assert ask(client, "Hi")[0].end == "done"
        assert "secret" not in server.log_path.read_text()
        began = time.monotonic()
    assert time.monotonic() - began < STOP_LIMIT_S  # it dies by SIGTERM; later it would be killed
