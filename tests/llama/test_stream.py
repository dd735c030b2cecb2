"""A stream on a real socket: what is stamped when, and what is sent."""

import json
import threading
import time

import pytest

from labs.llama import stream as stream_module
from labs.llama.client import LlamaClient
from labs.llama.stream import ChatStream, Read
from labs.llama.wire import Chunk, Done, parse_chunk
from tests.llama import sse_cases as case
from tests.llama.byte_server import END, LIMIT_S, SSE_HEAD, ByteServer, Peer, chunked
from tests.llama.streaming import BODY, PATIENT, opened


def read_all(stream: ChatStream) -> list[Read]:
    with stream:
        return list(stream)


def text_of(reads: list[Read]) -> str:
    return "".join(chunk.content for read in reads for chunk in read.chunks)


def first_visible_ns(reads: list[Read]) -> int | None:
    return next((r.at_ns for r in reads if any(c.is_first_visible for c in r.chunks)), None)


def test_whole_stream() -> None:
    pieces = [case.event(case.ROLE_NULL), case.event(case.token("Hi")), case.event(case.FINISH)]
    pieces += [case.event(case.USAGE), case.DONE]

    def script(peer: Peer) -> None:
        peer.send(SSE_HEAD + b"".join(map(chunked, pieces)) + END)

    with ByteServer(script) as server, LlamaClient(server.url) as client:
        stream = client.chat(BODY, PATIENT)
        reads = read_all(stream)
    assert stream.end == "done"
    assert stream.status == 200
    assert [read.data for read in reads] == pieces
    assert text_of(reads) == "Hi"
    last = reads[-2].chunks[-1]
    assert last.usage is not None
    assert last.timings is not None
    assert last.timings.cache_n == 31
    assert stream.started_ns and stream.connected_ns and stream.sent_ns and stream.headers_ns
    assert stream.started_ns < stream.connected_ns < stream.sent_ns < stream.headers_ns <= reads[0].at_ns


def test_what_is_sent() -> None:
    with (
        ByteServer(lambda peer: peer.send(SSE_HEAD + chunked(case.DONE) + END)) as server,
        LlamaClient(server.url + "/prefix/", api_key="secret") as client,
    ):
        read_all(client.chat(BODY, PATIENT))
        head, _, body = server.peer().request.partition(b"\r\n\r\n")
    lines = head.decode().lower().split("\r\n")
    assert lines[0] == "post /prefix/v1/chat/completions http/1.1"
    assert "authorization: bearer secret" in lines
    assert "accept-encoding: identity" in lines
    assert "connection: close" in lines
    # The header that makes llama-server deaf to a closed connection (measuring.md 2.4).
    assert "x-conversation-id" not in head.decode().lower()
    assert json.loads(body) == {**BODY, "stream": True}


def test_a_fresh_connection_for_every_stream() -> None:
    with (
        ByteServer(lambda peer: peer.send(SSE_HEAD + chunked(case.DONE) + END)) as server,
        LlamaClient(server.url) as client,
    ):
        for _ in range(3):
            assert read_all(client.chat(BODY, PATIENT)) != []
        assert len(server.peers) == 3


def test_pieces_of_one_recv_share_their_stamp() -> None:
    gate = threading.Event()

    def script(peer: Peer) -> None:
        peer.send(SSE_HEAD)
        gate.wait(LIMIT_S)
        peer.send(
            chunked(case.event(case.ROLE_NULL)) + chunked(case.event(case.token("A"))) + chunked(case.DONE)
        )

    with ByteServer(script) as server, LlamaClient(server.url) as client:
        stream = client.chat(BODY, PATIENT)
        with stream:
            gate.set()
            reads = list(stream)
    assert len(reads) == 3
    assert len({read.at_ns for read in reads}) == 1
    assert stream.headers_ns is not None
    assert stream.headers_ns < reads[0].at_ns


def test_an_event_cut_between_reads_belongs_to_the_read_that_completes_it() -> None:
    gates = [threading.Event() for _ in range(3)]
    data = case.event(case.token(case.KOREAN))
    cut = data.index("😀".encode()) + 2

    def script(peer: Peer) -> None:
        peer.send(SSE_HEAD)
        for gate, part in zip(gates, (data[:cut], data[cut:], case.DONE), strict=True):
            gate.wait(LIMIT_S)
            peer.send(chunked(part))

    with ByteServer(script) as server, LlamaClient(server.url) as client:
        stream = client.chat(BODY, PATIENT)
        reads = []
        with stream:
            gates[0].set()
            for read in stream:
                reads.append(read)
                if len(reads) < 3:
                    gates[len(reads)].set()
    assert [len(read.chunks) for read in reads] == [0, 1, 0]
    assert text_of(reads) == case.KOREAN
    assert reads[0].at_ns < reads[1].at_ns == first_visible_ns(reads)


def test_a_piece_is_handed_on_before_the_next_one_is_sent() -> None:
    """No buffering: the server sends its next event only after the last one was seen here."""
    seen = threading.Semaphore(0)

    def script(peer: Peer) -> None:
        peer.send(SSE_HEAD)
        for number in range(20):
            peer.send(chunked(case.event(case.token(f"{number} "))))
            assert seen.acquire(timeout=LIMIT_S)
        peer.send(chunked(case.DONE) + END)

    reads = []
    with opened(script) as (_, stream):
        for read in stream:
            reads.append(read)
            seen.release()
    assert stream.end == "done"
    assert text_of(reads) == "".join(f"{number} " for number in range(20))


def test_the_stamp_is_older_than_the_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed_ns = []

    def slow_parse(data: str, event: str = "message") -> Chunk | Done | None:
        parsed_ns.append(time.perf_counter_ns())
        return parse_chunk(data, event)

    monkeypatch.setattr(stream_module, "parse_chunk", slow_parse)
    with (
        ByteServer(lambda peer: peer.send(SSE_HEAD + chunked(case.event(case.token("A"))) + END)) as server,
        LlamaClient(server.url) as client,
    ):
        [read] = read_all(client.chat(BODY, PATIENT))
    assert read.at_ns < parsed_ns[0]


@pytest.mark.parametrize(
    "role", [case.ROLE_NULL, case.ROLE_EMPTY, case.PROGRESS], ids=["null", "empty", "progress"]
)
def test_a_role_event_is_not_the_first_token(role: str) -> None:
    """C1, A8: neither the role event, nor progress, nor the usage event moves the first or last token."""
    gates = [threading.Event() for _ in range(4)]
    parts = [case.event(role), case.event(case.token("Hi")), case.event(case.USAGE), case.DONE]

    def script(peer: Peer) -> None:
        peer.send(SSE_HEAD)
        for gate, part in zip(gates, parts, strict=True):
            gate.wait(LIMIT_S)
            peer.send(chunked(part))

    reads: list[Read] = []
    with opened(script) as (_, stream):
        gates[0].set()
        for read in stream:
            reads.append(read)
            if len(reads) < 4:
                gates[len(reads)].set()
    visible = [read.at_ns for read in reads if any(c.is_first_visible for c in read.chunks)]
    assert visible == [reads[1].at_ns]
    assert reads[0].at_ns < reads[1].at_ns < reads[2].at_ns


def test_fillers_change_nothing() -> None:
    """A4: pings, comments and empty data between two tokens."""
    fillers = b':\n\n: ping - 12\n\nevent: ping\ndata: {"type":"ping"}\n\ndata:\n\n'
    data = case.event(case.token("A")) + fillers + case.event(case.token("B")) + case.DONE
    with (
        ByteServer(
            lambda peer: peer.send(
                SSE_HEAD + b"".join(chunked(data[i : i + 7]) for i in range(0, len(data), 7))
            )
        ) as server,
        LlamaClient(server.url) as client,
    ):
        stream = client.chat(BODY, PATIENT)
        reads = read_all(stream)
    assert stream.end == "done"
    assert [chunk.content for read in reads for chunk in read.chunks] == ["A", "B"]
