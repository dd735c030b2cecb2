"""The whole-answer calls: health in all its shapes (B9), and what a missing feature looks like."""

import json
import time
from collections.abc import Callable

import pytest

from labs.llama.client import LlamaClient
from labs.llama.errors import BadFrame, NotSupported, Rejected, Unauthorised, Unreachable
from labs.llama.facts import Health, Token
from labs.llama.process import free_port
from tests.llama.byte_server import ByteServer, Peer, answer

OK = answer("200 OK", b'{"status":"ok"}')
SLOTS = answer("200 OK", b'[{"id":0,"n_ctx":4096,"is_processing":false}]')
PROPS = answer("200 OK", b'{"default_generation_settings":{"n_ctx":4096},"total_slots":1}')
NO_SLOTS = answer(
    "501 Not Implemented", b'{"error":{"code":501,"message":"no","type":"not_supported_error"}}'
)
NOT_FOUND = answer("404 Not Found", b"nothing", "text/plain")
BROKEN = answer("500 Internal Server Error", b'{"error":{"code":500,"message":"boom","type":"server_error"}}')
LOADING = b'{"error":{"message":"Loading model","type":"unavailable_error","code":503}}'
NO_KEY = answer("401 Unauthorized", b'{"error":{"message":"Invalid API Key","code":401}}')


def routes(**replies: bytes | None) -> Callable[[Peer], None]:
    """Answers by the path's last word; None stays silent until the client gives up."""

    def script(peer: Peer) -> None:
        reply = replies.get(peer.path.rpartition("/")[2].partition("?")[0].replace("-", "_"), NOT_FOUND)
        if reply is None:
            peer.watch_close()
        else:
            peer.send(reply)

    return script


@pytest.mark.parametrize(
    ("replies", "health"),
    [
        ({"health": OK, "slots": SLOTS}, Health("ok")),
        ({"health": OK, "slots": NO_SLOTS, "props": PROPS}, Health("ok")),
        ({"health": answer("503 Service Unavailable", LOADING)}, Health("loading")),
        ({"health": answer("503 Service Unavailable", b'{"status":"loading model"}')}, Health("loading")),
        ({"health": OK, "slots": answer("503 Service Unavailable", LOADING)}, Health("loading")),
        ({"health": answer("200 OK", b"<html>", "text/html")}, Health("not_llama_server", "http 200")),
        ({"health": answer("200 OK", b'{"status":"up"}')}, Health("not_llama_server", "http 200")),
        ({"health": NOT_FOUND}, Health("not_llama_server", "http 404")),
        ({"health": OK}, Health("not_llama_server", "no slots and no props")),
        (
            {"health": OK, "slots": answer("200 OK", b"{}")},
            Health("not_llama_server", "no slots and no props"),
        ),
        ({"health": b"SSH-2.0-x\r\n\r\n"}, Health("not_llama_server", "not http")),
        (
            {"health": answer("503 Service Unavailable", b"<html>", "text/html")},
            Health("unhealthy", "http 503"),
        ),
        ({"health": BROKEN}, Health("unhealthy", "http 500")),
        ({"health": OK, "slots": NO_KEY}, Health("unhealthy", "unauthorised")),
    ],
)
def test_health(replies: dict[str, bytes | None], health: Health) -> None:
    with ByteServer(routes(**replies)) as server, LlamaClient(server.url) as client:
        assert client.health() == health


@pytest.mark.parametrize("replies", [{"health": None}, {"health": OK, "slots": None}])
def test_a_wedged_server_is_unhealthy_in_time(replies: dict[str, bytes | None]) -> None:
    """The issue's limit for a page with such an endpoint is 3 s."""
    with ByteServer(routes(**replies)) as server, LlamaClient(server.url) as client:
        began = time.monotonic()
        assert client.health() == Health("unhealthy", "timeout")
        assert time.monotonic() - began < 3


def test_a_dribbling_server_does_not_stretch_the_limit() -> None:
    def script(peer: Peer) -> None:
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            peer.send(b" ")
            time.sleep(0.05)

    with ByteServer(script) as server, LlamaClient(server.url) as client:
        began = time.monotonic()
        with pytest.raises(Unreachable) as caught:
            client.get("/props", limit_s=0.3)
        assert caught.value.timed_out
        assert time.monotonic() - began < 2


def test_nobody_is_down() -> None:
    with LlamaClient(f"http://127.0.0.1:{free_port()}") as client:
        assert client.health() == Health("down", "unreachable")


def test_a_server_whose_every_completion_fails_is_found_by_the_deep_look() -> None:
    with (
        ByteServer(routes(health=OK, slots=SLOTS, completions=BROKEN)) as server,
        LlamaClient(server.url) as client,
    ):
        assert client.health() == Health("ok")
        assert client.health(deep=True) == Health("unhealthy", "http 500")
        tries = [peer for peer in server.peers if peer.path.endswith("completions")]
        assert len(tries) == 2  # a deterministic 500 is tried once more, not for ever


def test_without_metrics() -> None:
    with ByteServer(routes(metrics=NO_SLOTS)) as server, LlamaClient(server.url) as client:
        assert client.metrics() is None
        with pytest.raises(NotSupported):
            client.slots()


def test_errors_of_the_calls() -> None:
    with ByteServer(routes(props=NO_KEY, tokenize=BROKEN)) as server, LlamaClient(server.url) as client:
        with pytest.raises(Unauthorised):
            client.props()
        with pytest.raises(Rejected) as caught:
            client.tokenize("x")
        assert (caught.value.status, caught.value.message) == (500, "boom")


@pytest.mark.parametrize("tokens", ["{}", '{"tokens":["x"]}', '{"tokens":{}}', "[]"])
def test_bad_tokens(tokens: str) -> None:
    with (
        ByteServer(routes(tokenize=answer("200 OK", tokens.encode()))) as server,
        LlamaClient(server.url) as client,
        pytest.raises(BadFrame),
    ):
        client.tokenize("x")


def test_pieces() -> None:
    said = {"tokens": [{"id": 1, "piece": "a"}, {"id": 2, "piece": [236, 149]}]}
    with (
        ByteServer(routes(tokenize=answer("200 OK", json.dumps(said).encode()))) as server,
        LlamaClient(server.url) as client,
    ):
        assert client.tokenize_pieces("x") == [Token(1, b"a"), Token(2, b"\xec\x95")]
        asked = json.loads(server.peer().request.partition(b"\r\n\r\n")[2])
        assert asked == {"content": "x", "add_special": False, "with_pieces": True}


def test_an_endless_answer_is_refused() -> None:
    def script(peer: Peer) -> None:
        peer.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            peer.send(b" " * 1_000_000)

    with ByteServer(script) as server, LlamaClient(server.url) as client, pytest.raises(BadFrame):
        client.props()
