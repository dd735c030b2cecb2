"""Every way a stream can end, on real sockets."""

import itertools
import json
import socket
import struct
import threading
import time

import pytest

from labs.llama.client import LlamaClient
from labs.llama.errors import (
    BadFrame,
    Loading,
    NotSupported,
    Rejected,
    Unauthorised,
    Unreachable,
)
from labs.llama.stream import ChatStream, Limits, StreamEnd
from tests.llama import sse_cases as case
from tests.llama.byte_server import END, SSE_HEAD, ByteServer, Peer, answer, chunked
from tests.llama.streaming import BODY, PATIENT, TOKEN, Script, opened


def outcome(script: Script, limits: Limits = PATIENT) -> tuple[ChatStream, str]:
    with ByteServer(script) as server, LlamaClient(server.url) as client:
        stream = client.chat(BODY, limits)
        with stream:
            text = "".join(chunk.content for read in stream for chunk in read.chunks)
        return stream, text


def reset(peer: Peer) -> None:
    """Closes with a RST instead of a FIN."""
    peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.sock.close()


@pytest.mark.parametrize(
    ("body", "end", "text"),
    [
        (TOKEN + chunked(case.DONE) + END, "done", "A"),
        (TOKEN + chunked(case.DONE), "done", "A"),
        (TOKEN + chunked(b"data: [DONE]\n") + END, "done", "A"),
        (TOKEN + chunked(b"data: [DONE]") + END, "done", "A"),
        (TOKEN + chunked(b"data: [DONE]"), "done", "A"),
        (TOKEN + chunked(case.DONE) + TOKEN + END, "done", "A"),
        (TOKEN + END, "truncated", "A"),
        (TOKEN, "truncated", "A"),
        (TOKEN + chunked(case.event(case.FINISH)) + END, "truncated", "A"),
        (TOKEN[:-20], "truncated", ""),
        (b"", "truncated", ""),
        (TOKEN + chunked(case.event(case.ERROR)) + END, "error", "A"),
        (TOKEN + chunked(b'event: error\ndata: {"message":"no"}\n\n') + END, "error", "A"),
        (TOKEN + chunked(b'data: {"choices":[\n\n') + TOKEN, "bad_frame", "A"),
        (TOKEN + b"zz\r\nnot a chunk", "bad_frame", "A"),
    ],
)
def test_ends(body: bytes, end: StreamEnd, text: str) -> None:
    stream, got = outcome(lambda peer: peer.send(SSE_HEAD + body))
    assert (stream.end, got) == (end, text)
    assert (stream.error is not None) == (end in ("error", "bad_frame"))


def test_a_reset_connection_is_truncated() -> None:
    def script(peer: Peer) -> None:
        peer.send(SSE_HEAD + TOKEN)
        # The token must be read before the RST throws it away.
        with_token.wait(5)
        reset(peer)

    with_token = threading.Event()
    with opened(script) as (_, stream):
        for _ in stream:
            with_token.set()
    assert stream.end == "truncated"


def test_a_server_that_dies_before_the_headers_is_truncated() -> None:
    stream, _ = outcome(lambda peer: None)
    assert stream.end == "truncated"
    assert stream.headers_ns is None
    assert stream.sent_ns is not None


OVERFLOW = json.dumps(
    {
        "error": {
            "code": 400,
            "message": "request (6358 tokens) exceeds the available context size (4096 tokens)",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 6358,
            "n_ctx": 4096,
        }
    }
).encode()
LOADING = b'{"error":{"message":"Loading model","type":"unavailable_error","code":503}}'
PAGE = b"<html><h1>secret of a stranger</h1></html>"


@pytest.mark.parametrize(
    ("reply", "kind", "status"),
    [
        (answer("400 Bad Request", OVERFLOW), Rejected, 400),
        (
            answer("401 Unauthorized", b'{"error":{"message":"Invalid API Key","code":401}}'),
            Unauthorised,
            401,
        ),
        (answer("503 Service Unavailable", LOADING), Loading, 503),
        (answer("503 Service Unavailable", b'{"status":"loading model"}'), Loading, 503),
        (answer("501 Not Implemented", b"{}"), NotSupported, 501),
        (answer("404 Not Found", PAGE, "text/html"), NotSupported, 404),
        (answer("500 Internal Server Error", PAGE, "text/html"), Rejected, 500),
        (answer("302 Found", PAGE, "text/html", "Location: http://169.254.169.254/"), Rejected, 302),
    ],
)
def test_an_http_error_is_raised_on_entering(reply: bytes, kind: type[Rejected], status: int) -> None:
    with ByteServer(lambda peer: peer.send(reply)) as server, LlamaClient(server.url) as client:
        with pytest.raises(kind) as caught, client.chat(BODY, PATIENT):
            pass
        assert caught.value.status == status
        assert "secret" not in str(caught.value)
        assert type(caught.value) is kind
        assert len(server.peers) == 1


def test_overflow_tells_its_numbers() -> None:
    with (
        ByteServer(lambda peer: peer.send(answer("400 Bad Request", OVERFLOW))) as server,
        LlamaClient(server.url) as client,
        pytest.raises(Rejected) as caught,
        client.chat(BODY, PATIENT),
    ):
        pass
    error = caught.value
    assert (error.kind, error.n_prompt_tokens, error.n_ctx) == ("exceed_context_size_error", 6358, 4096)


@pytest.mark.parametrize(
    "reply",
    [
        answer("200 OK", PAGE, "text/html"),
        answer("200 OK", b'{"choices":[]}'),
        answer("200 OK", b"x", "text/event-stream", "Content-Encoding: gzip"),
        b"SSH-2.0-OpenSSH_9.7\r\n\r\n",
    ],
    ids=["page", "json", "gzip", "ssh"],
)
def test_a_stranger_is_a_bad_frame(reply: bytes) -> None:
    with (
        ByteServer(lambda peer: peer.send(reply)) as server,
        LlamaClient(server.url) as client,
        pytest.raises(BadFrame) as caught,
        client.chat(BODY, PATIENT),
    ):
        pass
    assert "secret" not in str(caught.value)


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with (
        LlamaClient(f"http://127.0.0.1:{port}") as client,
        pytest.raises(Unreachable) as caught,
        client.chat(BODY, PATIENT),
    ):
        pass
    assert not caught.value.timed_out


def endless(data: bytes, first: bytes = b"") -> Script:
    """Sends `first`, then `data` for ever, until the client closes."""

    def script(peer: Peer) -> None:
        peer.send(SSE_HEAD + first)
        watcher = threading.Thread(target=peer.watch_close)
        watcher.start()
        while peer.closed_ns is None:
            peer.send(chunked(data))
            time.sleep(0.005)
        watcher.join()

    return script


@pytest.mark.parametrize(
    "filler", [b":\n\n", b": ping\n\n", case.event(case.PROGRESS)], ids=["colon", "ping", "progress"]
)
def test_first_token_deadline_although_bytes_keep_coming(filler: bytes) -> None:
    """A11 b."""
    with opened(endless(filler), Limits(first_token_s=0.2, idle_s=9, total_s=9)) as (server, stream):
        reads = list(stream)
        closed_ns = server.peer().wait_closed()
    assert stream.end == "first_token_timeout"
    assert len(reads) > 1
    assert stream.sent_ns is not None
    assert stream.cut_ns is not None
    assert stream.sent_ns + 0.2e9 <= stream.cut_ns <= closed_ns


def test_first_token_deadline_before_the_headers() -> None:
    with opened(Peer.watch_close, Limits(first_token_s=0.1, idle_s=9, total_s=9)) as (server, stream):
        assert list(stream) == []
        server.peer().wait_closed()
    assert stream.end == "first_token_timeout"
    assert stream.status is None


@pytest.mark.parametrize("hidden", ["reasoning_content", "reasoning"])
def test_hidden_text_satisfies_the_first_token_deadline(hidden: str) -> None:
    """C2: a model that thinks is not silent."""
    thought = json.dumps({"choices": [{"index": 0, "delta": {hidden: "hm"}}]})
    limits = Limits(first_token_s=0.15, idle_s=9, total_s=0.5)
    with opened(endless(case.event(thought)), limits) as (_, stream):
        list(stream)
    assert stream.end == "time_limit"


def test_idle_deadline_after_three_tokens() -> None:
    """A11 c; pings do not count as life."""
    limits = Limits(first_token_s=9, idle_s=0.2, total_s=9)
    with opened(endless(b":\n\n", TOKEN * 3), limits) as (server, stream):
        text = "".join(chunk.content for read in stream for chunk in read.chunks)
        server.peer().wait_closed()
    assert (stream.end, text) == ("idle_timeout", "AAA")


def test_a_long_silence_within_the_limit_is_waited_for() -> None:
    """A11 a, scaled: headers at once, silence, tokens. Only the own limits end a read."""

    def script(peer: Peer) -> None:
        peer.send(SSE_HEAD)
        time.sleep(0.5)  # the silence is the input, not a wait for something
        peer.send(TOKEN + chunked(case.DONE))

    stream, text = outcome(script, Limits(first_token_s=5, idle_s=0.1, total_s=5))
    assert (stream.end, text) == ("done", "A")


def test_time_limit_while_tokens_flow() -> None:
    limits = Limits(first_token_s=9, idle_s=9, total_s=0.2)
    with opened(endless(case.event(case.token("A"))), limits) as (_, stream):
        reads = list(stream)
    assert stream.end == "time_limit"
    assert stream.started_ns is not None
    assert all(read.at_ns <= stream.started_ns + 0.2e9 for read in reads)


def test_a_slow_consumer_is_no_idle_server() -> None:
    """What lay in the socket when the consumer came back had arrived in time."""
    counter = itertools.count()

    def script(peer: Peer) -> None:
        peer.send(SSE_HEAD + TOKEN)
        first.wait(5)
        peer.send(TOKEN + chunked(case.DONE))
        second.set()

    first, second = threading.Event(), threading.Event()
    with opened(script, Limits(first_token_s=9, idle_s=0.05, total_s=9)) as (_, stream):
        for _ in stream:
            if next(counter) == 0:
                first.set()
                second.wait(5)
                time.sleep(0.1)  # longer than the idle limit
    assert stream.end == "done"
