"""Closing is cancelling: from another thread, by an own deadline, while blocked, before any header."""

import socket
import threading
import time
from pathlib import Path

import pytest

from labs.llama.client import LlamaClient
from labs.llama.stream import ChatStream, Limits
from tests.llama import sse_cases as case
from tests.llama.byte_server import LIMIT_S, SSE_HEAD, ByteServer, Peer, chunked
from tests.llama.streaming import BODY, PATIENT, TOKEN, Script, wait_until

SEEN_WITHIN_NS = 50_000_000
TRIES = 3  # delays of a busy machine only add, so the smallest of a few is ours


def silent(peer: Peer) -> None:
    peer.watch_close()


def headers_then_silent(peer: Peer) -> None:
    peer.send(SSE_HEAD)
    peer.watch_close()


def token_then_silent(peer: Peer) -> None:
    peer.send(SSE_HEAD + TOKEN)
    peer.watch_close()


SCRIPTS = pytest.mark.parametrize("script", [silent, headers_then_silent, token_then_silent])


def blocked(stream: ChatStream) -> threading.Thread:
    """A reader of the stream, in its own thread, blocked in recv for want of bytes."""

    def read() -> None:
        with stream:
            for _ in stream:
                pass

    thread = threading.Thread(target=read)
    thread.start()
    return thread


@SCRIPTS
def test_a_blocked_reader_is_cut_from_another_thread(script: Script) -> None:
    delays_ns = []
    with ByteServer(script) as server, LlamaClient(server.url) as client:
        for number in range(TRIES):
            stream = client.chat(BODY, PATIENT)
            reader = blocked(stream)
            peer = server.peer(number)
            peer.wait_started()
            cut_ns = time.perf_counter_ns()
            stream.cut()
            stream.cut()
            closed_ns = peer.wait_closed()
            reader.join(LIMIT_S)
            assert not reader.is_alive()
            assert stream.end == "cut"
            assert stream.cut_ns is not None
            assert cut_ns <= stream.cut_ns <= closed_ns
            delays_ns.append(closed_ns - cut_ns)
    assert min(delays_ns) < SEEN_WITHIN_NS


@SCRIPTS
def test_close_at_needs_no_byte_and_no_other_thread(script: Script) -> None:
    delays_ns = []
    with ByteServer(script) as server, LlamaClient(server.url) as client:
        for number in range(TRIES):
            stream = client.chat(BODY, PATIENT)
            at_ns = time.perf_counter_ns() + 100_000_000
            stream.close_at(at_ns)
            with stream:
                list(stream)
            delays_ns.append(server.peer(number).wait_closed() - at_ns)
            assert stream.end == "cut"
    assert min(delays_ns) >= 0
    assert min(delays_ns) < SEEN_WITHIN_NS


def test_no_stream_starts_a_thread() -> None:
    with ByteServer(silent) as server, LlamaClient(server.url) as client:
        stream = client.chat(BODY, PATIENT)
        stream.close_after_sent(0.1)
        before = {thread.ident for thread in threading.enumerate()}
        with stream:
            list(stream)
            own = [thread for thread in threading.enumerate() if thread.ident not in before]
            assert len(own) <= len(server.peers)  # the server's one a connection


def test_close_after_sent_counts_from_the_last_request_byte() -> None:
    delays_ns = []
    with ByteServer(silent) as server, LlamaClient(server.url) as client:
        for number in range(TRIES):
            stream = client.chat(BODY, PATIENT)
            stream.close_after_sent(0.1)
            with stream:
                assert list(stream) == []
            server.peer(number).wait_closed()
            assert stream.sent_ns is not None
            assert stream.cut_ns is not None
            delays_ns.append(stream.cut_ns - stream.sent_ns - 100_000_000)
    assert min(delays_ns) >= 0
    assert min(delays_ns) < SEEN_WITHIN_NS


def test_close_at_cuts_a_flowing_stream_and_drops_what_came_after() -> None:
    def script(peer: Peer) -> None:
        peer.send(SSE_HEAD)
        while True:
            peer.send(TOKEN)
            time.sleep(0.002)

    with ByteServer(script) as server, LlamaClient(server.url) as client:
        stream = client.chat(BODY, PATIENT)
        at_ns = time.perf_counter_ns() + 100_000_000
        stream.close_at(at_ns)
        with stream:
            reads = list(stream)
    assert stream.end == "cut"
    assert reads
    assert all(read.at_ns <= at_ns for read in reads)


def test_cut_before_it_began() -> None:
    with ByteServer(silent) as server, LlamaClient(server.url) as client:
        stream = client.chat(BODY, PATIENT)
        stream.cut()
        with stream:
            assert list(stream) == []
        assert server.peers == []
    assert stream.end == "cut"


def test_cut_while_connecting() -> None:
    """A listener whose queue is full answers nobody: the connect hangs until its own limit."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        with LlamaClient(f"http://127.0.0.1:{address[1]}") as client:
            stream = client.chat(BODY, Limits(first_token_s=9, idle_s=9, total_s=0.4))
            reader = blocked(stream)
            wait_until(lambda: stream.started_ns is not None)
            stream.cut()
            reader.join(LIMIT_S)
        for filler in fillers:
            filler.close()
    assert stream.end == "cut"
    assert stream.connected_ns is None


def test_holding_is_not_reading_any_more() -> None:
    with ByteServer(token_then_silent) as server, LlamaClient(server.url) as client:
        with client.chat(BODY, PATIENT) as stream:
            for _ in stream:
                break
            assert stream.end is None
            assert server.peer().closed_ns is None
            stream.cut()
            server.peer().wait_closed()
            assert list(stream) == []
        assert stream.end == "cut"


def test_leaving_the_block_closes() -> None:
    with ByteServer(token_then_silent) as server, LlamaClient(server.url) as client:
        with client.chat(BODY, PATIENT) as stream:
            next(iter(stream))
        server.peer().wait_closed()
    assert stream.end == "cut"


def test_a_finished_stream_stays_done() -> None:
    with (
        ByteServer(lambda peer: peer.send(SSE_HEAD + TOKEN + chunked(case.DONE))) as server,
        LlamaClient(server.url) as client,
    ):
        with client.chat(BODY, PATIENT) as stream:
            list(stream)
        stream.cut()
        stream.close()
    assert stream.end == "done"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files cannot be counted here")
def test_fifty_cuts_leak_nothing() -> None:
    with ByteServer(token_then_silent) as server, LlamaClient(server.url) as client:
        before = open_files()
        for number in range(50):
            stream = client.chat(BODY, PATIENT)
            reader = blocked(stream)
            server.peer(number).wait_started()
            stream.cut()
            server.peer(number).wait_closed()
            reader.join(LIMIT_S)
            assert stream.end == "cut"
        wait_until(lambda: server.live == 0)
        wait_until(lambda: open_files() <= before)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
