"""What the fake does like the real server, each test on both: shapes of answers, cache, queue, cancel, counters."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator

import pytest

from labs.llama.client import LlamaClient
from labs.llama.errors import NotSupported, Rejected, Unauthorised
from labs.llama.facts import Health
from labs.llama.log import size_bytes, task_lines
from labs.llama.process import EmbeddedServer
from labs.llama.stream import Read
from labs.measure.prefix import common_prefix
from tests.fakellama.contract import (
    BATCH,
    LIMITS,
    PARAGRAPH,
    SCALE,
    Server,
    all_idle,
    ask,
    body,
    chunks_of,
    counts,
    final,
    fresh,
    long_text,
    messages,
    metrics,
    read_tokens,
    slot,
    until,
)
from tests.fakellama.process import FakeServer
from tests.fakellama.raw import call, send


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeServer]:
    with FakeServer(tmp_path_factory.mktemp("fake"), "--scale", str(SCALE)) as server:
        yield server


@pytest.fixture(params=[pytest.param("real", marks=pytest.mark.server), "fake"])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue("llama_server" if request.param == "real" else "fake")
    return found


@pytest.fixture(scope="module", params=[pytest.param("real", marks=pytest.mark.server), "fake"])
def locked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With a key, without extras, and with little room: 256 tokens a slot."""
    is_real = request.param == "real"
    kind = EmbeddedServer if is_real else FakeServer
    flags = ("--no-slots", "--no-metrics", "--ctx", "512", *(() if is_real else ("--scale", str(SCALE))))
    with kind(tmp_path_factory.mktemp("locked"), *flags, api_key="secret") as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[LlamaClient]:
    """With both slots idle and empty."""
    with LlamaClient(server.base_url) as client:
        until(lambda: all_idle(client))
        for number in (0, 1):
            client.erase_slot(number)
        yield client


@pytest.mark.parametrize(
    "text", ["Hi", "안녕, 지금 몇 시예요? 😀", "12:30\n\tdone!", "extraordinarily long wording"]
)
def test_tokens_can_be_turned_back(client: LlamaClient, text: str) -> None:
    prompt = client.apply_template(messages(text))
    pieces = client.tokenize_pieces(prompt)
    ids = [piece.id for piece in pieces]
    assert ids == client.tokenize(prompt) == client.prompt_tokens(messages(text))
    assert b"".join(piece.piece for piece in pieces).decode() == prompt
    assert client.post_object("/detokenize", {"tokens": ids})["content"] == prompt
    counted = client.post_object("/v1/chat/completions/input_tokens", {"messages": messages(text)})
    assert counted["input_tokens"] == len(ids)


def test_cold_repeat_and_without_the_cache(client: LlamaClient) -> None:
    text = fresh()
    n = len(client.prompt_tokens(messages(text)))
    before = metrics(client)
    seen = [
        counts(ask(client, text)),
        counts(ask(client, text)),
        counts(ask(client, text, cache_prompt=False)),
        counts(ask(client, text)),
    ]
    after = metrics(client)
    assert seen == [(0, n), (n - 1, 1), (0, n), (n - 1, 1)]
    assert after.cached_tokens - before.cached_tokens == sum(cached for cached, _ in seen)
    assert after.prompt_tokens - before.prompt_tokens == sum(computed for _, computed in seen)
    assert after.predicted_tokens - before.predicted_tokens == 4 * 4


@pytest.mark.parametrize("edit", ["front", "middle", "tail"])
def test_the_cache_serves_the_common_prefix(client: LlamaClient, edit: str) -> None:
    number = fresh("")
    parts = {"front": "7", "middle": "seven", "tail": "Why?"}
    text = f"{number} {PARAGRAPH} Which {number} one?"
    changed = {
        "front": f"{parts['front']}{text}",
        "middle": text.replace("granite", parts["middle"]),
        "tail": f"{text} {parts['tail']}",
    }[edit]
    first, second = (client.prompt_tokens(messages(each)) for each in (text, changed))
    ask(client, text)
    shared = common_prefix(first, second)
    assert counts(ask(client, changed)) == (shared, len(second) - shared)


def test_the_answer_stays_in_the_slot(client: LlamaClient) -> None:
    text = fresh()
    said = "".join(chunk.content for chunk in ask(client, text, max_tokens=8))
    n = len(client.prompt_tokens(messages(text)))
    assert slot(client).n_prompt_tokens == n + 7, "the last token was sampled and never computed"
    more = [*messages(text), {"role": "assistant", "content": said}, {"role": "user", "content": "And then?"}]
    cached, _ = counts(ask(client, "", messages=more))
    assert n < cached <= n + 8


def test_an_emptied_slot_is_cold_and_the_other_is_not(client: LlamaClient) -> None:
    text = fresh()
    n = len(client.prompt_tokens(messages(text)))
    for number in (0, 1):
        ask(client, text, id_slot=number)
    assert client.post_object("/slots/0?action=erase", {}) == {"id_slot": 0, "n_erased": n + 3}
    assert slot(client).n_prompt_tokens == 0
    assert counts(ask(client, text, id_slot=1)) == (n - 1, 1)
    assert counts(ask(client, text)) == (0, n)


def test_a_slot_that_is_not_there_is_another(client: LlamaClient) -> None:
    ask(client, fresh(), id_slot=7)
    assert slot(client, 1).n_prompt_tokens
    assert not slot(client, 0).n_prompt_tokens


def test_an_unpinned_ask_goes_where_most_of_it_is(client: LlamaClient) -> None:
    text = f"{fresh()} {PARAGRAPH}"
    n = len(client.prompt_tokens(messages(text)))
    ask(client, fresh("Something else entirely."))
    ask(client, text, id_slot=1)
    assert counts(ask(client, text, id_slot=-1)) == (n - 1, 1)


def test_progress_goes_by_batches_and_counters_add_up(client: LlamaClient) -> None:
    text = f"{fresh()} {PARAGRAPH * 8}"
    n = len(client.prompt_tokens(messages(text)))
    assert n > BATCH
    chunks = ask(client, text, max_tokens=3, timings_per_token=True)
    seen = [chunk.progress for chunk in chunks if chunk.progress]
    assert [(each.total, each.cache, each.processed) for each in seen] == [
        (n, 0, min(done, n)) for done in range(0, n + BATCH, BATCH)
    ]
    assert [each.time_ms for each in seen] == sorted(each.time_ms for each in seen)
    assert all(chunk.role == "assistant" for chunk in chunks if chunk.progress)
    pieces = [chunk.timings for chunk in chunks if chunk.is_generated and chunk.timings]
    assert [each.predicted_n for each in pieces] == [1, 2, 3]
    assert {(each.cache_n, each.prompt_n) for each in pieces} == {(0, n)}
    [usage] = [chunk.usage for chunk in chunks if chunk.usage]
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) == (n, 3, 0)
    assert [chunk.finish_reason for chunk in chunks if chunk.finish_reason] == ["length"]


def test_times_are_the_servers_own(client: LlamaClient) -> None:
    began_s = time.perf_counter()
    timings = final(ask(client, fresh(), max_tokens=8))
    took_ms = (time.perf_counter() - began_s) * 1000
    assert 0 < timings.prompt_ms + timings.predicted_ms < took_ms
    assert final(ask(client, fresh(), max_tokens=1)).predicted_ms == 0.001


def test_a_waiting_client_is_pinged(server: Server, client: LlamaClient) -> None:
    more = {"stream": True, "sse_ping_interval": 1, "return_progress": False, "max_tokens": 1}
    for seconds in (2.6, 5.2, 10.4):  # other work may end meanwhile, and what was long is read at once
        raw = call(server.base_url, "POST", "/v1/chat/completions", body(long_text(server, seconds), **more))
        if raw.chunks[0] == b":\n\n":
            break
    assert raw.chunks[0] == b":\n\n", "before the first token"


def test_an_ask_waits_for_its_slot_and_no_counter_knows(client: LlamaClient) -> None:
    queued = client.chat(body(fresh(), max_tokens=2), LIMITS)
    second: list[Read] = []

    def read() -> None:
        with queued:
            second.extend(queued)

    waiting = threading.Thread(target=read)
    with client.chat(body(fresh(), max_tokens=90), LIMITS) as held:
        read_tokens(held, 1)
        busy = slot(client)
        waiting.start()
        until(lambda: metrics(client).requests_deferred == 1, every_s=0.02)
        assert (busy.is_processing, metrics(client).requests_processing) == (True, 1)
        assert slot(client).id_task == busy.id_task
        assert queued.headers_ns is None
        list(held)
    waiting.join(LIMITS.total_s)
    assert (held.end, queued.end) == ("done", "done")
    assert queued.headers_ns is not None
    assert queued.sent_ns is not None
    waited_ms = (queued.headers_ns - queued.sent_ns) / 1e6
    assert 0 < final(chunks_of(second)).prompt_ms < waited_ms, "the wait for eighty tokens is not in it"
    assert slot(client).id_task != busy.id_task
    assert metrics(client).requests_deferred == 0


def test_the_other_slot_does_not_wait(client: LlamaClient) -> None:
    with client.chat(body(fresh(), max_tokens=500), LIMITS) as held:
        read_tokens(held, 1)
        ask(client, fresh(), id_slot=1)
        assert [each.is_processing for each in client.slots()] == [True, False]
    until(lambda: all_idle(client))


def test_emptying_a_busy_slot_waits_for_it(client: LlamaClient) -> None:
    text = fresh()
    n = len(client.prompt_tokens(messages(text)))
    with client.chat(body(text, max_tokens=20), LIMITS) as held:
        read_tokens(held, 1)
        assert client.post_object("/slots/0?action=erase", {}, limit_s=60)["n_erased"] == n + 19
        list(held)
    assert held.end == "done"


def test_a_busy_row(client: LlamaClient) -> None:
    text = fresh()
    n = len(client.prompt_tokens(messages(text)))
    with client.chat(body(text, max_tokens=500), LIMITS) as held:
        read_tokens(held, 3)
        row = slot(client)
        assert row.is_processing
        assert row.n_decoded is not None and row.n_decoded >= 3
        assert row.n_prompt_tokens is not None
        assert row.n_prompt_tokens - n - row.n_decoded in (-1, 0)
        assert row.n_prompt_tokens_processed == n
    until(lambda: all_idle(client))
    free = slot(client)
    assert (free.id_task, free.n_decoded, free.n_prompt_tokens_processed) == (row.id_task, 0, 0)


def test_a_cut_in_decode(server: Server, client: LlamaClient) -> None:
    text, offset, before = fresh(), size_bytes(server.log_path), metrics(client)
    n = len(client.prompt_tokens(messages(text)))
    with client.chat(body(text, max_tokens=2000, timings_per_token=True), LIMITS) as stream:
        timings = [chunk.timings for chunk in read_tokens(stream, 5) if chunk.timings]
        stream.cut()
    until(lambda: all_idle(client))
    free, after = slot(client), metrics(client)
    assert free.n_prompt_tokens is not None and free.id_task is not None
    told = free.n_prompt_tokens - n + 1  # the last token is told before it is decoded
    assert 0 <= told - timings[-1].predicted_n <= 25, "it went on although nobody listens"
    assert after.predicted_tokens - before.predicted_tokens == told
    assert (after.prompt_tokens - before.prompt_tokens, after.cached_tokens - before.cached_tokens) == (n, 0)
    until(lambda: task_lines(server.log_path, free.id_task or 0, offset).release is not None)
    lines = task_lines(server.log_path, free.id_task, offset)
    assert lines.cancel is not None
    assert (lines.slot_id, lines.n_tokens) == (0, free.n_prompt_tokens)


def test_a_cut_in_prefill_and_what_it_leaves(client: LlamaClient) -> None:
    text = f"{fresh()} {PARAGRAPH * 32}"
    ids = client.prompt_tokens(messages(text))
    before = metrics(client)
    with client.chat(body(text), LIMITS) as stream:
        assert next(iter(stream)).chunks[0].progress is not None
        row = slot(client)
        assert (row.is_processing, row.n_prompt_tokens, row.n_prompt_tokens_processed) == (True, BATCH, 0)
        stream.cut()
    until(lambda: all_idle(client), every_s=0.2)
    free, after = slot(client), metrics(client)
    assert free.n_prompt_tokens is not None
    assert free.n_prompt_tokens in (BATCH, 2 * BATCH), "at the next border of a batch, or the one after"
    assert after.prompt_tokens - before.prompt_tokens == free.n_prompt_tokens
    assert after.predicted_tokens == before.predicted_tokens
    shorter = client.prompt_tokens(messages(text[:300]))
    assert counts(ask(client, text[:300]))[0] == common_prefix(shorter, ids[: free.n_prompt_tokens])


def test_a_quiet_prefill_is_left_within_a_second_and_a_batch(server: Server, client: LlamaClient) -> None:
    for seconds in (
        2.2,
        4.4,
        8.8,
    ):  # other work may end meanwhile, and what was long is read before it is looked
        text = long_text(server, seconds)
        n = len(client.prompt_tokens(messages(text)))
        stream = client.chat(body(text, return_progress=False), LIMITS)
        stream.close_after_sent(0.1)
        with stream:
            list(stream)
        until(lambda: all_idle(client), every_s=1.5)
        if (read_n := slot(client).n_prompt_tokens or 0) < n:
            break
    assert 0 < read_n < n


def test_a_fast_poller_hides_a_closed_connection(server: Server, client: LlamaClient) -> None:
    """Each answer of `/slots` begins the waiting second anew, so nobody looks before something is to be written."""
    text = long_text(server, 1.4)
    n = len(client.prompt_tokens(messages(text)))
    stream = client.chat(body(text, return_progress=False, max_tokens=2000), LIMITS)
    stream.close_after_sent(0.1)
    with stream:
        list(stream)
    until(lambda: all_idle(client))
    assert n <= (slot(client).n_prompt_tokens or 0) < n + 25


def test_half_a_close_is_a_close(server: Server, client: LlamaClient) -> None:
    asked = {**body(fresh(), max_tokens=2000), "stream": True}
    with send(server.base_url, "POST", "/v1/chat/completions", asked) as sock:
        assert sock.recv(65536)
        until(lambda: (slot(client).n_decoded or 0) > 1)
        sock.shutdown(1)
        rest = b"".join(iter(lambda: sock.recv(65536), b""))
    assert b"[DONE]" not in rest
    until(lambda: all_idle(client))


def test_a_named_stream_goes_on_without_its_client(server: Server, client: LlamaClient) -> None:
    text = fresh()
    n = len(client.prompt_tokens(messages(text)))
    asked = {**body(text, max_tokens=12), "stream": True}
    name = f"X-Conversation-Id: {text[:4]}"
    with send(server.base_url, "POST", "/v1/chat/completions", asked, name) as sock:
        assert sock.recv(65536)
    until(lambda: all_idle(client) and slot(client).id_task is not None)
    assert slot(client).n_prompt_tokens == n + 11


def test_a_reader_that_stops_reading_stops_nothing(client: LlamaClient) -> None:
    text = fresh()
    n = len(client.prompt_tokens(messages(text)))
    with client.chat(body(text, max_tokens=20), LIMITS) as held:
        read_tokens(held, 1)
        until(lambda: all_idle(client))
        assert slot(client).n_prompt_tokens == n + 19


def test_a_prompt_that_does_not_fit(client: LlamaClient) -> None:
    text = fresh()
    ask(client, text)
    held = slot(client)
    with pytest.raises(Rejected) as caught, client.chat(body("word " * 5000), LIMITS):
        pass
    error = caught.value
    assert (error.status, error.kind, error.n_ctx) == (400, "exceed_context_size_error", client.props().n_ctx)
    assert error.n_prompt_tokens == len(client.prompt_tokens(messages("word " * 5000)))
    assert slot(client).n_prompt_tokens == held.n_prompt_tokens
    assert slot(client).id_task != held.id_task, "it had the slot for a moment"
    assert counts(ask(client, text))[1] == 1


def test_a_key_and_no_extras(locked: Server) -> None:
    with LlamaClient(locked.base_url) as stranger:
        assert stranger.health() == Health("unhealthy", "unauthorised")
        for call_it in (stranger.props, lambda: stranger.tokenize("Hi"), stranger.metrics):
            with pytest.raises(Unauthorised):
                call_it()
        with pytest.raises(Unauthorised), stranger.chat(body("Hi"), LIMITS):
            pass
    with LlamaClient(locked.base_url, "secret") as client:
        assert client.health() == Health("ok")
        assert client.metrics() is None
        with pytest.raises(NotSupported):
            client.slots()
    for header in ("Authorization: Bearer secret", "Authorization: secret", "X-Api-Key: secret"):
        assert call(locked.base_url, "GET", "/props", None, header).status == 200


def test_a_full_context_ends_the_answer(locked: Server) -> None:
    with LlamaClient(locked.base_url, "secret") as client:
        text = f"{fresh()} {PARAGRAPH * 8}"
        chunks = ask(client, text, max_tokens=200)
        n = len(client.prompt_tokens(messages(text)))
        assert n < 250
        assert n + final(chunks).predicted_n == client.props().n_ctx
        assert [chunk.finish_reason for chunk in chunks if chunk.finish_reason] == ["length"]


def test_whole_answers_keep_their_connection(server: Server) -> None:
    place = http.client.HTTPConnection(server.base_url.removeprefix("http://"), timeout=10)
    place.connect()
    first = place.sock
    for _ in range(3):
        place.request("GET", "/health")
        answer = place.getresponse()
        assert (answer.status, answer.getheader("Keep-Alive")) == (200, "timeout=5, max=100")
        answer.read()
        assert place.sock is first
    place.close()
